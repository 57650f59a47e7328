#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bindings.hpp"
#include "errors.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/common/file.hpp"
#include "gym/data/text_tokens.hpp"
#include "gym/dispute/network_limit.hpp"
#include "gym/engine/device.hpp"
#include "gym/engine/evaluate.hpp"
#include "gym/engine/generate.hpp"
#include "gym/engine/saved_run.hpp"
#include "gym/engine/seed.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/step_inputs.hpp"
#include "gym/interchange/weights_file.hpp"
#include "gym/owner/local_data.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_config_yaml.hpp"
#include "gym/program/train_program.hpp"
#include "gym/tokenizer/tokenizer.hpp"
#include "local_run.hpp"

namespace gym::python {
namespace {

namespace py = pybind11;
using blob::Dataset;
using engine::State;
using program::Program;

ByteView view_of(const py::bytes& bytes) {
    return as_bytes(std::string_view(bytes));
}
py::bytes to_bytes(const Bytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

engine::EngineOptions engine_options(unsigned threads, const std::string& device) {
    engine::EngineOptions options;
    options.threads = threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
    options.device = device;
    return options;
}

// Datasets

using NativeTokenizer = std::shared_ptr<tokenizer::Tokenizer>;

data::OptionalTokenizer optional(const NativeTokenizer& tokenizer) {
    if (!tokenizer) return std::nullopt;
    return *tokenizer;
}

/// A token file that was read before. @errors kMismatch where it is another one now.
Result<Dataset> load_again(const std::string& path, const std::string& root) {
    GYM_TRY(const Digest expected, Digest::parse(root));
    auto tokens = Dataset::load(path, expected);
    if (!tokens.ok()) return tokens.error().in(path);
    return tokens;
}

void bind_dataset(py::module_& module) {
    py::class_<Dataset, std::shared_ptr<Dataset>>(module, "Tokens")
        .def_static(
            "from_text",
            [](const py::bytes& text, const NativeTokenizer& tokenizer) {
                const ByteView view = view_of(text);
                return unlocked([&] { return data::tokens_of_text(view, optional(tokenizer)); });
            },
            py::arg("text"), py::arg("tokenizer") = nullptr)
        .def_static(
            "load",
            [](const std::string& path, const NativeTokenizer& tokenizer) {
                return unlocked([&]() -> Result<Dataset> {
                    GYM_TRY(owner::LocalTokens tokens,
                            owner::read_tokens(path, optional(tokenizer)));
                    if (tokens.of_text) return *std::move(tokens.of_text);
                    return Dataset::load(path, tokens.dataset.root);
                });
            },
            py::arg("path"), py::arg("tokenizer") = nullptr)
        .def_static("load_again",
                    [](const std::string& path, const std::string& root) {
                        return unlocked([&] { return load_again(path, root); });
                    })
        .def("save",
             [](const Dataset& self, const std::string& path) {
                 unlocked([&] { return write_file_atomic(path, self.encode()); });
             })
        .def_property_readonly("root", [](const Dataset& self) { return self.root().hex(); })
        .def_property_readonly("vocabulary", &Dataset::vocabulary)
        // Root of the tokenizer that the file names; empty: it names none.
        .def_property_readonly("tokenizer",
                               [](const Dataset& self) {
                                   const Digest& root = self.tokenizer();
                                   return root == Digest() ? std::string() : root.hex();
                               })
        .def_property_readonly(
            "validation_tokens",
            [](const Dataset& self) { return self.tokens(blob::Split::kValidation).size(); })
        .def("__len__", [](const Dataset& self) { return self.tokens().size(); })
        .def("check_windows", [](const Dataset& self, std::uint64_t context) {
            for (const auto split : {blob::Split::kTrain, blob::Split::kValidation})
                unwrap(self.window_count(split, context + 1));
        });
}

// Programs and states

Program build_program(const std::string& yaml, const std::string& origin) {
    return unlocked([&]() -> Result<Program> {
        GYM_TRY(const program::TrainConfig config, program::parse_train_config(yaml, origin));
        return program::train_program(config);
    });
}

void bind_program(py::module_& module) {
    py::class_<Program, std::shared_ptr<Program>>(module, "Program")
        .def_static("from_yaml", &build_program, py::arg("yaml"), py::arg("origin"))
        .def_static("decode",
                    [](const py::bytes& file) {
                        const ByteView view = view_of(file);
                        return unlocked([&] { return program::decode(view); });
                    })
        .def("encode", [](const Program& self) { return to_bytes(program::encode(self)); })
        .def_property_readonly("root", [](const Program& self) { return program_root(self).hex(); })
        .def_property_readonly("parameters", &program::parameter_count)
        .def_property_readonly("flops_per_step", &program::flops_per_step)
        .def_property_readonly("state_bytes", &program::state_bytes)
        // Why no network can train it; empty: one can.
        .def_property_readonly("network_limit", &dispute::network_limit)
        // (windows of a step, tokens of a window, tokens that the model knows)
        .def_property_readonly("shape", [](const Program& self) {
            const auto shape = unwrap(engine::batch_shape(self));
            return py::make_tuple(shape.windows, shape.window_tokens, shape.vocabulary);
        });
}

/// Parameters alone begin with a fresh optimizer.
State training_state(const Program& program, const State& state) {
    auto fresh = engine::with_fresh_optimizer(program, state);
    return fresh.ok() ? std::move(fresh).value() : state;
}

/// A folder, a safetensors file or a state, as jobs begin from them.
State read_weights(const Program& program, const std::string& path) {
    return unlocked([&]() -> Result<State> {
        GYM_TRY(auto weights, interchange::load_weights(path, program));
        return std::move(weights.base);
    });
}

/// A state alone, or that of a run (`gym program run --state`).
Result<State> read_state(const std::string& path) {
    GYM_TRY(const Bytes file, read_file(path, engine::kStateBytesMax));
    if (!engine::is_saved_run(file)) {
        auto state = engine::decode_state(file);
        if (!state.ok()) return state.error().in(path);
        return state;
    }
    auto run = engine::decode_saved_run(file);
    if (!run.ok()) return run.error().in(path);
    return std::move(run).value().state;
}

void bind_state(py::module_& module) {
    py::class_<State, std::shared_ptr<State>>(module, "State")
        .def_static("initial",
                    [](const Program& program, const std::string& seed) {
                        return unlocked([&] {
                            return engine::initial_state(program, engine::parse_seed(seed));
                        });
                    })
        .def_static("load",
                    [](const std::string& path) {
                        return unlocked([&]() -> Result<State> { return read_state(path); });
                    })
        .def_static("read_weights", &read_weights)
        .def("for_training", [](const State& self,
                                const Program& program) { return training_state(program, self); })
        .def("save",
             [](const State& self, const std::string& path) {
                 unlocked([&] { return write_file_atomic(path, engine::encode_state(self)); });
             })
        .def("base", [](const State& self,
                        const Program& program) { return unwrap(engine::base_of(program, self)); })
        .def_property_readonly("root",
                               [](const State& self) { return engine::state_root(self).hex(); })
        .def_property_readonly("size_bytes", &State::size_bytes)
        .def_property_readonly("tensors", [](const State& self) {
            py::dict out;
            for (const auto& tensor : self.tensors)
                out[py::str(tensor.name)] = py::tuple(py::cast(tensor.dims));
            return out;
        });
}

// Training

double number_of(std::uint32_t bits) {
    return static_cast<double>(std::bit_cast<float>(bits));
}

void bind_run(py::module_& module) {
    py::class_<engine::StepRecord>(module, "StepRecord")
        .def_readonly("step", &engine::StepRecord::step)
        .def_property_readonly(
            "loss", [](const engine::StepRecord& self) { return number_of(self.loss_bits); })
        .def_property_readonly(
            "grad_norm",
            [](const engine::StepRecord& self) { return number_of(self.grad_norm_bits); })
        .def_readonly("skipped", &engine::StepRecord::skipped);
    py::class_<LocalRun>(module, "LocalRun")
        .def(py::init([](const Program& program, const State& start,
                         std::shared_ptr<Dataset> dataset, const std::string& seed,
                         std::uint32_t steps, unsigned threads, const std::string& device,
                         const std::string& state_file, bool restart) {
                 const LocalRunSpec spec{engine::parse_seed(seed), steps, state_file, restart};
                 const auto options = engine_options(threads, device);
                 return unlocked([&] {
                     return LocalRun::create(program, training_state(program, start),
                                             std::move(dataset), spec, options);
                 });
             }),
             py::arg("program"), py::arg("start"), py::arg("tokens"), py::arg("seed"),
             py::arg("steps"), py::arg("threads"), py::arg("device"), py::arg("state_file"),
             py::arg("restart"))
        .def("step", [](LocalRun& self) { return unlocked([&] { return self.step(); }); })
        .def("save", [](LocalRun& self) { unlocked([&] { return self.save(); }); })
        .def("__len__", &LocalRun::records, py::call_guard<py::gil_scoped_release>())
        .def("state", [](const LocalRun& self) { return unlocked([&] { return self.state(); }); })
        .def("record",
             [](const LocalRun& self, std::size_t index) {
                 return unlocked([&] { return self.record(index); });
             })
        .def_property_readonly("divergence", &LocalRun::divergence,
                               py::call_guard<py::gil_scoped_release>())
        .def_property_readonly("steps_done", &LocalRun::steps_done,
                               py::call_guard<py::gil_scoped_release>())
        .def_property_readonly("tokens_per_step", &LocalRun::tokens_per_step);
}

// Evaluation and generation

/// @raises KeyboardInterrupt between two batches.
engine::Evaluation evaluate(const Program& program, const State& state, const Dataset& dataset,
                            std::uint32_t windows, unsigned threads, const std::string& device) {
    bool interrupted = false;
    const auto progress = [&](std::uint32_t, std::uint32_t, float) {
        const py::gil_scoped_acquire acquire;
        interrupted = PyErr_CheckSignals() != 0;
        return !interrupted;
    };
    Result<engine::Evaluation> result = [&] {
        const py::gil_scoped_release release;
        return engine::evaluate(program, state, dataset, windows, engine_options(threads, device),
                                progress);
    }();
    if (interrupted) throw py::error_already_set();
    return unwrap(std::move(result));
}

void bind_evaluation(py::module_& module) {
    py::class_<engine::Evaluation>(module, "Evaluation")
        .def_property_readonly(
            "loss",
            [](const engine::Evaluation& self) { return static_cast<double>(self.mean_loss); })
        .def_property_readonly(
            "perplexity",
            [](const engine::Evaluation& self) { return static_cast<double>(self.perplexity); })
        .def_property_readonly("root",
                               [](const engine::Evaluation& self) { return self.root.hex(); })
        .def_readonly("windows", &engine::Evaluation::windows)
        .def_readonly("tokens", &engine::Evaluation::tokens)
        .def_property_readonly("accuracy", [](const engine::Evaluation& self) -> py::object {
            if (!self.classifies || self.windows == 0) return py::none();
            return py::float_(static_cast<double>(self.correct) / self.windows);
        });
    module.def("evaluate", &evaluate, py::arg("program"), py::arg("state"), py::arg("tokens"),
               py::arg("windows"), py::arg("threads"), py::arg("device"));
    module.def(
        "generate",
        [](const Program& program, const State& state, const std::vector<std::int32_t>& prompt,
           std::uint32_t tokens, double temperature, std::uint32_t top_k, const std::string& seed,
           unsigned threads, const tokenizer::Tokenizer& tokenizer) {
            const auto permits = [&tokenizer](std::int32_t token) {
                return tokenizer.has_token(static_cast<std::uint32_t>(token));
            };
            const engine::GenerateOptions options{tokens,
                                                  temperature,
                                                  top_k,
                                                  engine::parse_seed(seed),
                                                  engine_options(threads, "cpu"),
                                                  permits};
            return unlocked([&]() -> Result<std::vector<std::int32_t>> {
                GYM_TRY(const State base, engine::base_of(program, state));
                return engine::generate(program, base, prompt, options);
            });
        },
        py::arg("program"), py::arg("state"), py::arg("prompt"), py::arg("tokens"),
        py::arg("temperature"), py::arg("top_k"), py::arg("seed"), py::arg("threads"),
        py::arg("tokenizer"));
    module.def("device_model", [](const std::string& name) {
        return unlocked([&] { return engine::device_model(name); });
    });
}

}  // namespace

void bind_engine(py::module_& module) {
    bind_dataset(module);
    bind_program(module);
    bind_state(module);
    bind_run(module);
    bind_evaluation(module);
}

}  // namespace gym::python
