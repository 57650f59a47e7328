#pragma once

#include <boost/json.hpp>
#include <filesystem>
#include <string>

#include "gym/common/file.hpp"
#include "gym/common/result.hpp"

// JSON files of forge and of ours.
namespace gym::contracts {

/// @errors kNotFound, kIo; kMalformed: not a JSON object.
inline Result<boost::json::object> read_object(const std::filesystem::path& path,
                                               std::uint64_t size_max) {
    GYM_TRY(const Bytes content, read_file(path, size_max));
    boost::system::error_code error;
    boost::json::value value =
        boost::json::parse({reinterpret_cast<const char*>(content.data()), content.size()}, error);
    if (error || !value.is_object())
        return fail(ErrorCode::kMalformed, path.string() + " is not a JSON object");
    return std::move(value.as_object());
}

/// @errors kMalformed.
inline Result<std::string> text_of(const boost::json::object& object, const char* name) {
    const boost::json::value* value = object.if_contains(name);
    if (value == nullptr || !value->is_string())
        return fail(ErrorCode::kMalformed, std::string("text '") + name + "' is missing");
    return std::string(value->as_string());
}

}  // namespace gym::contracts
