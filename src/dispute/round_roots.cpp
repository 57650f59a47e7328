#include "gym/dispute/round_roots.hpp"

#include "gym/dispute/trace_program.hpp"
#include "gym/engine/state_index.hpp"

namespace gym::dispute {
namespace {

template <class Base>
Result<RoundRoots> roots_of(const program::Program& train, const Base& base, unsigned threads) {
    GYM_TRY(const TraceProgram trace, trace_program(train));
    GYM_TRY(const Digest initial, engine::fresh_state_root(train, base, threads));
    return RoundRoots{trace_root(trace.header), initial, trace.header.delta_codec};
}

}  // namespace

Result<RoundRoots> round_roots(const program::Program& train, const engine::State& base,
                               unsigned threads) {
    return roots_of(train, base, threads);
}

Result<RoundRoots> round_roots(const program::Program& train, ByteView base, unsigned threads) {
    return roots_of(train, base, threads);
}

}  // namespace gym::dispute
