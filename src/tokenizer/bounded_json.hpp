#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <stdexcept>
#include <string_view>

// JSON of strangers, read within a bound of memory: parsed, a file of many empty lists takes many
// times its bytes.
namespace gym::tokenizer {

/// Twice what a tokenizer.json of 31 MB takes, with 256,000 tokens and 512,000 merges as pairs.
inline constexpr std::size_t kJsonMemoryMax = std::size_t{256} << 20;

struct JsonTooLarge : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Counts what the parser and its values hold, and refuses more than the bound.
class BoundedMemory final : public boost::json::memory_resource {
  public:
    /// @param what takes the memory, for the error; it outlives this.
    BoundedMemory(std::string_view what, std::size_t bytes_max)
        : what_(what), left_(bytes_max), bytes_max_(bytes_max) {}

  private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override;
    void do_deallocate(void* place, std::size_t bytes, std::size_t alignment) override;
    bool do_is_equal(const boost::json::memory_resource& other) const noexcept override {
        return this == &other;
    }

    std::string_view what_;
    std::size_t left_, bytes_max_;
};

/// The object in a text, as long as this lives.
class BoundedJson {
  public:
    /// Throws std::runtime_error for a text that is not an object, and JsonTooLarge, naming `what`.
    BoundedJson(std::string_view text, std::string_view what,
                std::size_t bytes_max = kJsonMemoryMax);
    BoundedJson(const BoundedJson&) = delete;
    BoundedJson& operator=(const BoundedJson&) = delete;
    [[nodiscard]] const boost::json::object& root() const { return value_.get_object(); }

  private:
    BoundedMemory memory_;
    boost::json::monotonic_resource values_;
    boost::json::value value_;
};

}  // namespace gym::tokenizer
