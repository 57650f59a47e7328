#include "vector_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace gym::conformance {
namespace {

/// One line for each member and each element of a list, so that a difference shows where it is.
std::string text_of(const boost::json::object& file) {
    std::string text = "{";
    for (const auto& [name, value] : file) {
        text += (text.size() > 1 ? ",\n\"" : "\n\"") + std::string(name) + "\": ";
        if (!value.is_array()) {
            text += boost::json::serialize(value);
            continue;
        }
        std::string list;
        for (const boost::json::value& element : value.as_array())
            list += (list.empty() ? "\n" : ",\n") + boost::json::serialize(element);
        text += "[" + list + "]";
    }
    return text + "\n}\n";
}

void put(Bytes& out, std::uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8)
        out.push_back(static_cast<std::uint8_t>(word >> shift));
}

}  // namespace

void expect_committed(const std::string& name, const boost::json::object& file) {
    const char* folder = std::getenv("GYM_SOURCE_DIR");
    const std::string path = std::string(folder != nullptr ? folder : ".") +
                             "/tests/vectors/conformance/" + name + ".json";
    const std::string text = text_of(file);
    if (std::getenv("GYM_UPDATE_VECTORS") != nullptr) std::ofstream(path) << text;
    std::stringstream committed;
    committed << std::ifstream(path).rdbuf();
    EXPECT_TRUE(committed.str() == text) << path << " is not what the product computes";
}

std::uint32_t Pattern::word() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>(state_ >> 32);
}

Bytes Pattern::floats(std::uint64_t count, bool special) {
    constexpr std::uint32_t kSpecial[] = {0x00000000, 0x80000000, 0x00000001, 0x807FFFFF,
                                          0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF};
    Bytes out;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint32_t bits = word(), choice = word();
        if (special && choice % 8 == 0)
            put(out, kSpecial[choice / 8 % std::size(kSpecial)]);
        else
            put(out, (bits & 0x807FFFFF) | (119 + choice / 64 % 12) << 23);
    }
    return out;
}

Bytes Pattern::indices(std::uint64_t count, std::uint32_t bound) {
    Bytes out;
    for (std::uint64_t i = 0; i < count; ++i)
        put(out, word() % bound);
    return out;
}

}  // namespace gym::conformance
