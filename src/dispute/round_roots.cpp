#include "gym/dispute/round_roots.hpp"

#include "gym/dispute/trace_program.hpp"

namespace gym::dispute {

Result<RoundRoots> round_roots(const program::Program& train, const engine::State& base,
                               unsigned threads) {
    GYM_TRY(const TraceProgram trace, trace_program(train));
    GYM_TRY(const engine::State initial, engine::with_fresh_optimizer(train, base));
    return RoundRoots{trace_root(trace.header), engine::state_root(initial, threads),
                      trace.header.delta_codec};
}

}  // namespace gym::dispute
