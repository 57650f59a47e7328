#include "gym/engine/state_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "gym/commit/sha256.hpp"
#include "small_model.hpp"

namespace gym::engine {
namespace {

State small_base() {
    const program::Program program = testing::small_program();
    return base_of(program, initial_state(program, commit::sha256(as_bytes("seed"))).value())
        .value();
}

void put(StateTensor& tensor, std::size_t element, std::uint32_t bits) {
    std::memcpy(tensor.bytes.data() + element * sizeof bits, &bits, sizeof bits);
}

Result<StateSummary> scan(ByteView bytes, std::size_t piece_bytes) {
    StateScanner scanner;
    for (std::size_t at = 0; at < bytes.size(); at += piece_bytes)
        GYM_CHECK(scanner.append(bytes.subspan(at, std::min(piece_bytes, bytes.size() - at))));
    return std::move(scanner).finish();
}

TEST(StateScanner, FindsRootAndLayoutWhateverThePieces) {
    State state = small_base();
    state.tensors.push_back({"codes", commit::DType::kU8, {3}, {255, 255, 255}});
    const Bytes bytes = encode_state(state);
    for (const std::size_t piece :
         {std::size_t{1}, std::size_t{7}, std::size_t{1021}, bytes.size()}) {
        const auto summary = scan(bytes, piece);
        ASSERT_TRUE(summary.ok()) << summary.error().message;
        EXPECT_EQ(summary->root, state_root(state)) << piece;
        EXPECT_EQ(summary->layout, layout_of(state));
    }
}

TEST(StateScanner, TakesTheEmptyStateAndEmptyTensors) {
    for (const State& state : {State{}, State{{{"none", commit::DType::kF32, {0, 4}, {}}}}}) {
        const auto summary = scan(encode_state(state), 5);
        ASSERT_TRUE(summary.ok()) << summary.error().message;
        EXPECT_EQ(summary->root, state_root(state));
    }
}

TEST(StateScanner, RefusesWhatDecodeStateRefuses) {
    const Bytes good = encode_state(small_base());
    for (std::size_t at = 0; at < std::min<std::size_t>(good.size(), 200); ++at) {
        Bytes bad = good;
        bad[at] ^= 0x80;
        const auto decoded = decode_state(bad);
        const auto scanned = scan(bad, 13);
        EXPECT_EQ(scanned.ok(), decoded.ok() && check_finite(*decoded).ok()) << "byte " << at;
    }
    const auto cut = scan(ByteView(good).first(good.size() - 1), 64);
    ASSERT_FALSE(cut.ok());
    EXPECT_NE(cut.error().message.find("cut at byte " + std::to_string(good.size() - 1)),
              std::string::npos)
        << cut.error().message;
    Bytes longer = good;
    longer.push_back(0);
    EXPECT_FALSE(scan(longer, 64).ok());
}

TEST(StateScanner, NamesTheTensorWithAValueThatIsNotFinite) {
    for (const std::uint32_t bits : {0x7FC00000U, 0x7F800000U, 0xFF800000U}) {
        State state = small_base();
        put(state.tensors[3], 5, bits);
        put(state.tensors[3], 7, bits);
        for (const std::size_t piece : {3U, 4096U}) {
            const auto scanned = scan(encode_state(state), piece);
            ASSERT_FALSE(scanned.ok());
            EXPECT_EQ(scanned.error().code, ErrorCode::kInvalidArgument);
            EXPECT_NE(scanned.error().message.find(
                          "'" + state.tensors[3].name +
                          "' has 2 values that are NaN or infinite, the first of them element 5"),
                      std::string::npos)
                << scanned.error().message;
        }
        EXPECT_EQ(check_finite(state).error().code, ErrorCode::kInvalidArgument);
    }
    EXPECT_TRUE(check_finite(small_base()).ok());
}

TEST(Layout, SurvivesItsEncoding) {
    const StateLayout layout = layout_of(small_base());
    Bytes bytes = encode_layout(layout);
    EXPECT_EQ(decode_layout(bytes).value(), layout);
    EXPECT_EQ(layout, parameter_layout(testing::small_program()));
    bytes.pop_back();
    EXPECT_FALSE(decode_layout(bytes).ok());
}

TEST(Layout, AllDifferencesAreNamed) {
    const StateLayout needed = layout_of(small_base());
    EXPECT_TRUE(check_layout(needed, needed).ok());
    StateLayout given = needed;
    given[0].dims.front() += 1;
    given[1].dtype = commit::DType::kI32;
    const std::string missing = given.back().name;
    given.back().name = "stranger";
    const Error error = check_layout(needed, given).error();
    EXPECT_EQ(error.code, ErrorCode::kShapeMismatch);
    for (const std::string& name :
         {needed[0].name, needed[1].name, missing, std::string("stranger"),
          std::string("in 4 places"), std::string("i32")})
        EXPECT_NE(error.message.find(name), std::string::npos) << error.message;
}

TEST(Layout, OfVeryManyDifferencesTheFirstAreNamedAndTheRestCounted) {
    StateLayout needed;
    for (int i = 0; i < 512; ++i)
        needed.push_back({"tensor" + std::to_string(i), commit::DType::kF32, {1}});
    const std::string message = check_layout(needed, {}).error().message;
    EXPECT_NE(message.find("in 512 places: "), std::string::npos) << message;
    EXPECT_NE(message.find("'tensor499'"), std::string::npos) << message;
    EXPECT_EQ(message.find("'tensor500'"), std::string::npos) << message;
    EXPECT_TRUE(message.ends_with("; and 12 more")) << message;
}

TEST(Layout, AnotherOrderIsADifference) {
    const StateLayout needed = layout_of(small_base());
    StateLayout given = needed;
    std::swap(given[0], given[1]);
    EXPECT_NE(check_layout(needed, given).error().message.find("order"), std::string::npos);
    given = needed;
    given.push_back(given.front());
    EXPECT_FALSE(check_layout(needed, given).ok());
}

TEST(Layout, TheMessageOfVeryManyDifferencesIsBounded) {
    StateLayout given;
    for (int i = 0; i < 20'000; ++i)
        given.push_back({"tensor." + std::to_string(i), commit::DType::kF32, {1}});
    const std::string message = check_layout({}, given).error().message;
    EXPECT_LT(message.size(), 70'000U);
    EXPECT_NE(message.find("'tensor.0'"), std::string::npos);
    EXPECT_NE(message.find(" more"), std::string::npos);
}

}  // namespace
}  // namespace gym::engine
