#include "bounded_json.hpp"

#include <new>
#include <string>
#include <utility>

#include "gym/common/memory.hpp"

namespace gym::tokenizer {
namespace {

namespace json = boost::json;

constexpr std::size_t kDepthMax = 16;
constexpr std::size_t kFirstBytes = std::size_t{64} << 10;

json::value parse(std::string_view text, std::string_view what, json::storage_ptr values,
                  json::storage_ptr unfinished) {
    json::parse_options options;
    options.max_depth = kDepthMax;
    json::parser parser(std::move(unfinished), options);
    parser.reset(std::move(values));
    boost::system::error_code error;
    parser.write(text, error);
    if (error)
        throw std::runtime_error(std::string(what) + " is not JSON (" + error.message() +
                                 "); is it cut off?");
    return parser.release();
}

}  // namespace

void* BoundedMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
    if (bytes > left_)
        throw JsonTooLarge(std::string(what_) + " takes more than " + memory_text(bytes_max_) +
                           " of memory when it is read: no tokenizer needs so much");
    left_ -= bytes;
    return ::operator new(bytes, std::align_val_t(alignment));
}

void BoundedMemory::do_deallocate(void* place, std::size_t bytes, std::size_t alignment) {
    left_ += bytes;
    ::operator delete(place, std::align_val_t(alignment));
}

BoundedJson::BoundedJson(std::string_view text, std::string_view what, std::size_t bytes_max)
    : memory_(what, bytes_max),
      values_(kFirstBytes, &memory_),
      value_(parse(text, what, &values_, &memory_)) {
    if (!value_.is_object()) throw std::runtime_error(std::string(what) + " is not a JSON object");
}

}  // namespace gym::tokenizer
