#include "gym/engine/state_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/state_index.hpp"
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
    const StateIndex index = StateIndex::of(layout_of(small_base())).value();
    std::vector<std::size_t> places{index.begin(0), index.end(0) - 1, good.size() - 1};
    for (std::size_t at = 0; at < index.head_bytes(); ++at)
        places.push_back(at);
    for (const std::size_t at : places) {
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

TEST(StateScanner, TakesTensorsWithoutBytesOneBehindTheOther) {
    State state;
    for (int i = 0; i < 65'536; ++i)
        state.tensors.push_back({"t" + std::to_string(i), commit::DType::kF32, {0}, {}});
    const auto summary = scan(encode_state(state), 1 << 20);
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_EQ(summary->root, state_root(state));
    EXPECT_EQ(StateIndex::of([&] {
                  state.tensors.push_back({"one more", commit::DType::kF32, {0}, {}});
                  return layout_of(state);
              }())
                  .error()
                  .code,
              ErrorCode::kOutOfRange);
}

TEST(StateIndex, SaysWhereEachTensorsChunksAre) {
    State state = small_base();
    state.tensors.push_back({"codes", commit::DType::kU8, {1025}, Bytes(1025, 7)});
    state.tensors.push_back({"none", commit::DType::kF32, {0, 4}, {}});
    const Bytes bytes = encode_state(state);
    blob::MemoryStore store;
    const auto reader = store.open_reader(store.put(bytes).value()).value();
    const StateIndex index = StateIndex::read(*reader).value();
    EXPECT_EQ(index.layout(), layout_of(state));
    EXPECT_EQ(index.size_bytes(), bytes.size());
    EXPECT_TRUE(std::ranges::equal(ByteView(bytes).first(index.head_bytes()), index.encode()));
    const auto leaves = commit::chunk_leaves(bytes);
    for (std::size_t i = 0; i < index.tensors(); ++i) {
        const Bytes& tensor = state.tensors[i].bytes;
        ASSERT_EQ(index.begin(i) % 1024, 0U);
        ASSERT_EQ(index.tensor_bytes(i), tensor.size());
        const auto own = commit::chunk_leaves(tensor);
        ASSERT_EQ(index.end(i) - index.begin(i), own.size() * 1024);
        EXPECT_TRUE(
            std::ranges::equal(own, std::span(leaves).subspan(index.begin(i) / 1024, own.size())));
    }
}

TEST(StateIndex, OfAStateOfAnotherSizeIsRefused) {
    const Bytes good = encode_state(small_base());
    blob::MemoryStore store;
    const auto read = [&](ByteView bytes) {
        return StateIndex::read(*store.open_reader(store.put(bytes).value()).value());
    };
    EXPECT_TRUE(read(good).ok());
    for (const std::size_t size : {std::size_t{0}, std::size_t{11}, std::size_t{12},
                                   std::size_t{1023}, good.size() - 1024, good.size() - 1})
        EXPECT_EQ(read(ByteView(good).first(size)).error().code, ErrorCode::kMalformed) << size;
    Bytes other = good;
    other.resize(good.size() + 1024);
    EXPECT_EQ(read(other).error().code, ErrorCode::kMalformed);
    other = good;
    other[11] = 2;  // chunks of the head
    EXPECT_EQ(read(other).error().code, ErrorCode::kMalformed);
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
