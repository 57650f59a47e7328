#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "errors.hpp"
#include "gym/chain/client.hpp"
#include "gym/client/api_client.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/interchange/model_folder.hpp"
#include "gym/licence/licence.hpp"
#include "gym/owner/export_model.hpp"
#include "gym/owner/init_check.hpp"
#include "gym/owner/named_model.hpp"
#include "gym/owner/upload_weights.hpp"

/// Models as folders that Hugging Face's from_pretrained() reads.
namespace gym::python {
namespace {

namespace py = pybind11;
using engine::State;
using program::Program;
using Files = std::vector<std::pair<std::string, py::bytes>>;
using Progress = std::function<void(std::uint64_t, std::uint64_t)>;

std::vector<interchange::NamedFile> named_files(const Files& files) {
    std::vector<interchange::NamedFile> out;
    out.reserve(files.size());
    for (const auto& [name, content] : files) {
        const ByteView view = as_bytes(std::string_view(content));
        out.push_back({name, Bytes(view.begin(), view.end())});
    }
    return out;
}

/// @param dataset root, name and licence.
interchange::WrittenFolder write_folder(const std::string& path, const Program& program,
                                        const State& state, const std::string& name,
                                        const std::array<std::string, 3>& dataset,
                                        const Files& tokenizer) {
    interchange::ModelFolder folder;
    folder.card.name = name;
    folder.card.datasets.push_back({parse_digest(dataset[0], "dataset"), dataset[1], dataset[2]});
    folder.tokenizer = named_files(tokenizer);
    return unlocked([&] { return interchange::write_model_folder(path, program, state, folder); });
}

py::tuple read_folder(const std::string& path) {
    auto read = unlocked([&] { return interchange::read_model_folder(path); });
    return py::make_tuple(std::move(read.program), std::move(read.base), read.name);
}

/// Calls back to Python while a download runs without its lock. An exception there, Ctrl-C for one,
/// ends the download.
class Callbacks {
  public:
    explicit Callbacks(Progress progress) : progress_(std::move(progress)) {}
    void progress(std::uint64_t done, std::uint64_t total) {
        guarded([&] { progress_(done, total); });
    }
    bool interrupted() {
        guarded([] {
            if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        });
        return raised_.has_value();
    }
    /// Raises what was raised.
    void rethrow() {
        if (raised_) throw std::move(*raised_);
    }

  private:
    template <class Work>
    void guarded(Work&& work) {
        if (raised_) return;
        const py::gil_scoped_acquire acquire;
        try {
            work();
        } catch (py::error_already_set& error) {
            raised_.emplace(error);
        }
    }
    Progress progress_;
    std::optional<py::error_already_set> raised_;
};

/// Calls `work` with callbacks, without Python's lock.
template <class Work>
auto with_callbacks(Progress progress, Work&& work) {
    Callbacks callbacks(std::move(progress));
    auto result = [&] {
        const py::gil_scoped_release release;
        return std::forward<Work>(work)(callbacks);
    }();
    callbacks.rethrow();
    return unwrap(std::move(result));
}

/// What to compare a download with.
struct ChainPlace {
    std::string url;  ///< empty: nothing
    std::optional<contracts::Deployment> contracts;
};

Result<owner::Exported> run_export(const client::ApiClient& api, owner::ExportRequest request,
                                   const ChainPlace& place) {
    if (place.url.empty() || !place.contracts) return owner::export_model(api, request);
    GYM_TRY(const auto chain, chain::make_http_client(place.url));
    request.check = [&](const client::JobModel& model, const owner::ModelRoots& roots) {
        return owner::check_on_chain(api, *chain, *place.contracts, model, roots);
    };
    return owner::export_model(api, request);
}

owner::Exported export_job(const std::shared_ptr<client::ApiClient>& api, const std::string& job,
                           std::optional<std::uint64_t> round, const std::string& folder,
                           const Files& tokenizer, bool all_tokenizer_files,
                           const std::string& chain,
                           const std::optional<contracts::Deployment>& contracts,
                           Progress progress) {
    owner::ExportRequest request{parse_digest(job, "job"), round, folder, named_files(tokenizer),
                                 all_tokenizer_files};
    return with_callbacks(std::move(progress), [&](Callbacks& callbacks) {
        request.progress = [&](std::uint64_t done, std::uint64_t total) {
            callbacks.progress(done, total);
        };
        request.interrupted = [&] { return callbacks.interrupted(); };
        return run_export(*api, std::move(request), {chain, contracts});
    });
}

/// @return the root of the uploaded state.
std::string upload_weights(const std::shared_ptr<client::ApiClient>& api, const Program& program,
                           const std::string& path, Progress progress) {
    return with_callbacks(
               std::move(progress),
               [&](Callbacks& callbacks) {
                   return owner::upload_weights(
                       *api, program,
                       {.weights = path,
                        .progress = [&](std::uint64_t done,
                                        std::uint64_t total) { callbacks.progress(done, total); },
                        .interrupted = [&] { return callbacks.interrupted(); }});
               })
        .hex();
}

/// @param init "job:ID[@ROUND]", or NAME[@VERSION] of a registered model.
void check_weights(const std::shared_ptr<client::ApiClient>& api, const Program& program,
                   const std::string& init) {
    const auto fits = [&]() -> Status {
        if (init.starts_with(registry::kInitJobPrefix)) {
            GYM_TRY(const auto weights, registry::parse_init(init));
            return owner::check_job_weights(*api, weights, program);
        }
        GYM_TRY(const auto reference, registry::parse_model_reference(init));
        GYM_TRY(const auto model, api->model_version(reference));
        return owner::check_named_weights(*api, *model, program);
    };
    unlocked([&]() -> Status {
        const Status found = fits();
        return found.ok() ? found : Status(found.error().in("init: " + init));
    });
}

/// @param visibility empty: the licence decides.
registry::ModelVersion push_model(const std::shared_ptr<client::ApiClient>& api,
                                  const Program& program, const std::string& path,
                                  const std::string& reference, const std::string& licence,
                                  const std::string& visibility, const Files& tokenizer,
                                  Progress progress) {
    owner::ModelPush push{.reference = unwrap(registry::parse_model_reference(reference)),
                          .weights = path,
                          .tokenizer = named_files(tokenizer),
                          .licence = unwrap(licence::canonical(licence))};
    if (!visibility.empty()) push.access = unwrap(registry::make_access(visibility, {}));
    return with_callbacks(std::move(progress),
                          [&](Callbacks& callbacks) {
                              push.progress = [&](std::uint64_t done, std::uint64_t total) {
                                  callbacks.progress(done, total);
                              };
                              push.interrupted = [&] { return callbacks.interrupted(); };
                              return owner::push_model(*api, program, push);
                          })
        .value;
}

owner::ModelPull pull_of(const std::string& reference, Callbacks& callbacks) {
    return {.reference = registry::parse_model_reference(reference).value_or({}),
            .folder = {},
            .progress = [&](std::uint64_t done,
                            std::uint64_t total) { callbacks.progress(done, total); },
            .interrupted = [&] { return callbacks.interrupted(); }};
}

registry::ModelVersion pull_model(const std::shared_ptr<client::ApiClient>& api,
                                  const std::string& reference, const std::string& folder,
                                  Progress progress) {
    unwrap(registry::parse_model_reference(reference));
    return with_callbacks(std::move(progress),
                          [&](Callbacks& callbacks) {
                              owner::ModelPull pull = pull_of(reference, callbacks);
                              pull.folder = folder;
                              return owner::pull_model(*api, pull);
                          })
        .model;
}

std::string cached_model(const std::shared_ptr<client::ApiClient>& api,
                         const std::string& reference, const std::string& home, Progress progress) {
    unwrap(registry::parse_model_reference(reference));
    return with_callbacks(std::move(progress),
                          [&](Callbacks& callbacks) {
                              return owner::cached_model(*api, home, pull_of(reference, callbacks));
                          })
        .folder.string();
}

}  // namespace

void bind_model(py::module_& module) {
    using interchange::WrittenFolder;
    py::class_<WrittenFolder>(module, "WrittenFolder")
        .def_readonly("names", &WrittenFolder::names)
        .def_readonly("tensors", &WrittenFolder::tensors)
        .def_property_readonly("state_root",
                               [](const WrittenFolder& self) { return self.state_root.hex(); })
        .def_readonly("files", &WrittenFolder::files)
        .def_readonly("for_transformers", &WrittenFolder::for_transformers);
    py::class_<owner::Exported>(module, "Exported")
        .def_readonly("written", &owner::Exported::written)
        .def_property_readonly("round",
                               [](const owner::Exported& self) { return self.model.round; })
        .def_readonly("on_chain", &owner::Exported::on_chain)
        .def_readonly("checks", &owner::Exported::checks)
        .def_readonly("warnings", &owner::Exported::warnings);
    module.def("write_folder", &write_folder, py::arg("path"), py::arg("program"), py::arg("state"),
               py::arg("name"), py::arg("dataset"), py::arg("tokenizer"));
    module.def("read_folder", &read_folder, py::arg("path"));
    module.def("export_job", &export_job, py::arg("api"), py::arg("job"), py::arg("round"),
               py::arg("folder"), py::arg("tokenizer"), py::arg("all_tokenizer_files"),
               py::arg("chain"), py::arg("contracts"), py::arg("progress"));
    module.def("push_model", &push_model, py::arg("api"), py::arg("program"), py::arg("path"),
               py::arg("reference"), py::arg("licence"), py::arg("visibility"),
               py::arg("tokenizer"), py::arg("progress"));
    module.def("pull_model", &pull_model, py::arg("api"), py::arg("reference"), py::arg("folder"),
               py::arg("progress"));
    module.def("cached_model", &cached_model, py::arg("api"), py::arg("reference"), py::arg("home"),
               py::arg("progress"));
    module.def("check_weights", &check_weights, py::arg("api"), py::arg("program"),
               py::arg("init"));
    module.def("upload_weights", &upload_weights, py::arg("api"), py::arg("program"),
               py::arg("path"), py::arg("progress"));
}

}  // namespace gym::python
