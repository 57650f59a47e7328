#include <cmath>
#include <cstring>
#include <limits>

#include "gym/crypto/keccak.hpp"
#include "gym/game/column_parts.hpp"
#include "gym/kernels/float_environment.hpp"
#include "gym/program/train_program.hpp"
#include "random_game.hpp"

namespace gym::game::testing {
namespace {

program::DeltaGroups random_groups(Rng& rng, std::uint64_t count) {
    const std::uint64_t withdrawn = rng() % 2 == 0 ? 0 : rng() % (program::kWithdrawnMax + 1);
    const std::uint64_t added = count - withdrawn;
    return {rng() % 3 == 0 ? 0 : rng() % (added + 1), withdrawn, rng() % (withdrawn + 1)};
}

std::vector<float> random_values(Rng& rng, std::size_t count) {
    std::vector<float> values(count);
    const int spread = rng() % 2 == 0 ? 3 : 90;
    for (float& value : values)
        value = std::ldexp(static_cast<float>(rng() % 0x1000000) - 0x800000,
                           static_cast<int>(rng() % spread) - 60);
    if (rng() % 10 == 0) values[rng() % count] = std::numeric_limits<float>::infinity();
    return values;
}

Bytes part_of(const std::vector<float>& values, std::size_t part) {
    const std::size_t first = part * dispute::kColumnPart;
    const std::size_t count = std::min<std::size_t>(dispute::kColumnPart, values.size() - first);
    Bytes out(count * sizeof(float));
    std::memcpy(out.data(), &values[first], out.size());
    return out;
}

Cursor after(const Cursor& at, const Move& move) {
    return std::get<Cursor>(must(decide(at, move)));
}

}  // namespace

std::vector<Case> random_parts(Rng& rng) {
    const kernels::ExactFloatEnvironment environment;
    const auto count = static_cast<std::uint32_t>(
        rng() % 8 == 0 ? program::kDeltasMax : dispute::kColumnPart + 1 + rng() % 7168);
    const dispute::DeltaCount counted{count, random_groups(rng, count)};
    const std::vector<float> values = random_values(rng, count);
    std::vector<dispute::ColumnPart> parts = dispute::column_parts_of(values, counted);
    const auto part = static_cast<std::uint8_t>(rng() % parts.size());
    if (rng() % 3 == 0) parts[part].sum ^= std::int64_t{1} << rng() % 63;
    if (rng() % 4 == 0) parts[part].exponent += rng() % 2 == 0 ? 1 : -1;
    OpFrame op;
    OuterFrame outer;
    outer.facts = random_digest(rng);
    outer.deltas = count;
    outer.held = program::packed(counted.groups);
    op.step = hash_of(outer);
    Cursor at;
    at.stage = Stage::kColumn;
    at.index = rng() % 1000;
    at.leaves = count;
    at.node = random_digest(rng);
    at.frame = hash_of(op);
    std::vector<Case> cases;
    const auto play = [&](const Move& move) {
        cases.push_back({at, move});
        at = after(at, move);
    };
    const Bytes added = encode_parts(parts);
    play(move::PostColumn{added});
    play(move::PickPart{added, part});
    const Bytes posted = part_of(values, part);
    play(move::PostColumn{posted});
    cases.push_back({at, move::ProvePart{op, outer, posted}});
    return cases;
}

}  // namespace gym::game::testing
