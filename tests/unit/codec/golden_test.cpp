// Codes of codec 2 of fixed tensors, whose roots are committed (tests/vectors/delta_codes.txt):
// another value is another numerics version.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "codec_cases.hpp"
#include "gym/commit/sha256.hpp"

namespace gym::codec {
namespace {

/// Element i from u_i, where u_0 = seed and u_(i+1) = 6364136223846793005 * u_i +
/// 1442695040888963407 modulo 2^64: (u_i >> 40, in 24 bits, less 2^23) * 2^-(33 + (u_i >> 8 & 7)).
std::vector<float> golden_tensor(std::uint64_t seed, std::size_t count) {
    std::vector<float> x(count);
    std::uint64_t u = seed;
    for (float& value : x) {
        const auto integer = static_cast<std::int32_t>(u >> 40) - (1 << 23);
        value = std::ldexp(static_cast<float>(integer), -33 - static_cast<int>(u >> 8 & 7));
        u = 6364136223846793005U * u + 1442695040888963407U;
    }
    return x;
}

std::string line_of(std::uint64_t seed, std::size_t count, int grid, std::uint64_t bound,
                    int rounds) {
    const TensorGrid tensor{count, grid};
    Residual residual = Residual::zero(count);
    Encoding out;
    for (int round = 0; round < rounds; ++round) {
        out = encode(tensor, golden_tensor(seed + static_cast<std::uint64_t>(round), count), bound,
                     &residual);
        residual = *out.residual;
    }
    std::ostringstream line;
    line << "sparse " << seed << ' ' << count << ' ' << grid << ' ' << bound << ' ' << rounds << ' '
         << out.squared_norm << ' ' << out.weight << ' ' << to_hex(commit::sha256(out.code).view())
         << ' ' << to_hex(commit::sha256(residual.levels).view()) << ' '
         << to_hex(commit::sha256(residual.scales).view());
    return line.str();
}

TEST(GoldenCodes, AreThoseOfTheCommittedVectors) {
    const char* const source = std::getenv("GYM_SOURCE_DIR");
    ASSERT_NE(source, nullptr);
    std::ifstream file(std::string(source) + "/tests/vectors/delta_codes.txt");
    ASSERT_TRUE(file.is_open());
    int vectors = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line.front() == '#') continue;
        std::istringstream fields(line);
        std::string form;
        std::uint64_t seed = 0, bound = 0;
        std::size_t count = 0;
        int grid = 0, rounds = 0;
        fields >> form >> seed >> count >> grid >> bound >> rounds;
        EXPECT_EQ(line_of(seed, count, grid, bound, rounds), line);
        ++vectors;
    }
    EXPECT_EQ(vectors, 7);
}

}  // namespace
}  // namespace gym::codec
