#include "import.hpp"

#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "interpreter.hpp"

namespace gym::torch_import {
namespace {

/// libtorch's messages begin with what matters; its hints for developers follow.
std::string first_lines(const std::string& message) {
    return message.substr(0, message.find("\nException raised"));
}

Result<torch::jit::Module> load(const std::string& path) {
    if (!std::filesystem::is_regular_file(path))
        return fail(ErrorCode::kNotFound, "no file " + path);
    try {
        torch::jit::Module module = torch::jit::load(path);
        module.eval();
        return module;
    } catch (const std::exception& error) {
        return fail(ErrorCode::kMalformed,
                    path + " is not a TorchScript file that this libtorch " +
                        "loads (torch.jit.script(model).save(path)): " + first_lines(error.what()));
    }
}

}  // namespace

Result<SampleInput> parse_sample_input(const std::string& text) {
    const Error error = fail(ErrorCode::kInvalidArgument,
                             "sample input '" + text + "' is not like f32[8,20] or i64[2,16]");
    SampleInput sample;
    sample.is_float = text.starts_with("f32");
    if (!sample.is_float && !text.starts_with("i64")) return error;
    if (text.size() < 6 || text[3] != '[' || text.back() != ']') return error;
    std::int64_t elements = 1;
    const char* at = text.data() + 4;
    const char* const end = text.data() + text.size() - 1;
    while (true) {
        std::int64_t size = 0;
        const auto [next, failed] = std::from_chars(at, end, size);
        if (failed == std::errc::invalid_argument || sample.sizes.size() == program::kRankMax)
            return error;
        constexpr auto kElementsMax = static_cast<std::int64_t>(program::kSlotElementsMax);
        if (failed != std::errc() || size > kElementsMax / std::max<std::int64_t>(elements, 1))
            return fail(ErrorCode::kInvalidArgument,
                        "sample input '" + text +
                            "' has more than 2^31 elements, the most a tensor can have");
        if (size < 1) return error;
        elements *= size;
        sample.sizes.push_back(size);
        if (next == end) return sample;
        if (*next != ',') return error;
        at = next + 1;
    }
}

Result<Imported> import_torchscript(const std::string& path,
                                    const std::vector<SampleInput>& inputs) {
    GYM_TRY(const torch::jit::Module module, load(path));
    Symbols symbols;
    try {
        std::vector<Tensor> tensors;
        for (const SampleInput& input : inputs)
            tensors.push_back(symbols.input(tensors.size(), input.sizes,
                                            input.is_float ? at::kFloat : at::kLong));
        const c10::IValue output = Interpreter(symbols).run(module, tensors);
        TORCH_CHECK(output.isTensor(), "forward() returns ", output.tagKind(),
                    "; a program's output is one tensor");
        TORCH_CHECK(Symbols::is_symbolic(output.toTensor()),
                    "forward() returns a constant: nothing depends on the inputs");
        const SlotId slot = symbols.dense_f32("the result of forward()", output.toTensor());
        symbols.builder().output("output", slot);
    } catch (const std::exception& error) {
        return fail(ErrorCode::kInvalidArgument, path + ": " + first_lines(error.what()));
    }
    GYM_TRY(program::Program program, symbols.builder().build());
    return Imported{std::move(program), {symbols.weights()}};
}

}  // namespace gym::torch_import
