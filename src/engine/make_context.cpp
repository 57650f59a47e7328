#include "make_context.hpp"

#include <string>

namespace gym::engine {
namespace {

constexpr unsigned kThreadsMax = 1024;

Result<kernels::Isa> isa_of(const std::string& name) {
    const kernels::Isa best = kernels::detect_isa();
    if (name == "auto") return best;
    const auto isa = kernels::parse_isa(name);
    if (!isa)
        return fail(ErrorCode::kInvalidArgument,
                    "unknown instruction set '" + name +
                        "': Instruction set: auto, scalar, avx2, avx512 or amx");
    if (*isa > best)
        return fail(ErrorCode::kInvalidArgument, "this CPU has no " + name + ", at most " +
                                                     std::string(kernels::isa_name(best)));
    return *isa;
}

}  // namespace

Result<kernels::Isa> choose_isa(const EngineOptions& options) {
    if (options.threads == 0 || options.threads > kThreadsMax)
        return fail(ErrorCode::kInvalidArgument, "threads must be 1 to 1024");
    return isa_of(options.isa);
}

Result<kernels::Context> make_context(const EngineOptions& options) {
    GYM_TRY(const kernels::Isa isa, choose_isa(options));
    return kernels::Context(isa, static_cast<int>(options.threads));
}

}  // namespace gym::engine
