// tests/vectors/onestep.txt: cases that the contracts' own tests (contracts/test/Float32.t.sol) run
// without C++, and proof that they are what the kernels give. After a deliberate change of
// semantics run with GYM_UPDATE_VECTORS=1.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "float_functions.hpp"
#include "gym/common/bytes.hpp"
#include "gym/kernels/float_environment.hpp"

namespace gym::testing {
namespace {

constexpr std::uint64_t kSeed = 20261121;
constexpr std::size_t kCasesPerFunction = 64;

void put(Bytes& out, std::uint64_t value, int size) {
    for (int shift = 8 * (size - 1); shift >= 0; shift -= 8)
        out.push_back(static_cast<std::uint8_t>(value >> shift));
}

/// A line for each function, in hexadecimal: its number (1 byte), then for each case a, b, c (u32)
/// and the result (u64), big-endian.
std::string vectors() {
    std::string text;
    FloatCases source(kSeed);
    for (const FloatFunction& function : float_functions::kAll) {
        Bytes line;
        put(line, function.number, 1);
        for (const FloatCase& one : source.make(function.kind, kCasesPerFunction)) {
            for (const std::uint32_t word : one)
                put(line, word, 4);
            put(line, function.expected(one), 8);
        }
        text += to_hex0x(line) + "\n";
    }
    return text;
}

TEST(Vectors, AreWhatTheKernelsGive) {
    const kernels::ExactFloatEnvironment environment;
    const char* folder = std::getenv("GYM_SOURCE_DIR");
    const std::string path =
        std::string(folder != nullptr ? folder : ".") + "/tests/vectors/onestep.txt";
    if (std::getenv("GYM_UPDATE_VECTORS") != nullptr) std::ofstream(path) << vectors();
    std::stringstream committed;
    committed << std::ifstream(path).rdbuf();
    EXPECT_EQ(committed.str() == vectors(), true) << path << " is not what the kernels give";
}

}  // namespace
}  // namespace gym::testing
