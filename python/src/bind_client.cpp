#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "errors.hpp"
#include "gym/client/api_client.hpp"
#include "gym/common/clock.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/crypto/secret.hpp"
#include "gym/owner/find_id.hpp"
#include "gym/owner/order_key.hpp"
#include "gym/owner/push_data.hpp"
#include "gym/owner/visible_to.hpp"
#include "gym/plan/order_signer.hpp"
#include "gym/registry/dataset_names.hpp"
#include "gym/registry/job_spec.hpp"
#include "gym/registry/model_names.hpp"

namespace gym::python {
namespace {

namespace py = pybind11;
using client::ApiClient;
using Nodes = std::optional<std::uint64_t>;

template <class T>
std::vector<T> values_of(client::AnswerList<T> answers) {
    std::vector<T> out;
    out.reserve(answers.size());
    for (auto& answer : answers)
        out.push_back(std::move(answer.value));
    return out;
}

// Records

void bind_job(py::module_& module) {
    using client::Job;
    py::class_<Job>(module, "Job")
        .def_property_readonly("id", [](const Job& self) { return self.id.hex(); })
        .def_property_readonly("owner", [](const Job& self) { return self.owner.hex(); })
        .def_readonly("name", &Job::name)
        .def_property_readonly("status",
                               [](const Job& self) { return std::string(to_string(self.status)); })
        .def_readonly("status_reason", &Job::status_reason)
        .def_property_readonly(
            "visibility",
            [](const Job& self) { return std::string(to_string(self.access.visibility)); })
        .def_readonly("rounds", &Job::rounds)
        .def_readonly("rounds_done", &Job::rounds_done)
        .def_readonly("steps_per_round", &Job::steps_per_round)
        .def_readonly("flops_per_step", &Job::flops_per_step)
        .def_property_readonly("dataset_root",
                               [](const Job& self) { return self.dataset_root.hex(); })
        .def_property_readonly("init_root",
                               [](const Job& self) -> std::optional<std::string> {
                                   if (!self.init_root) return std::nullopt;
                                   return self.init_root->hex();
                               })
        .def_property_readonly("budget", [](const Job& self) { return to_decimal(self.budget); })
        .def_property_readonly("ended", [](const Job& self) { return self.ended_at.has_value(); });
}

void bind_job_detail(py::module_& module) {
    using client::JobDetail;
    using client::JobRound;
    py::class_<JobRound>(module, "JobRound")
        .def_readonly("round", &JobRound::round)
        .def_readonly("validation_loss", &JobRound::validation_loss)
        .def_readonly("commitments", &JobRound::commitment_count);
    py::class_<JobDetail, client::Job>(module, "JobDetail")
        .def_readonly("waiting_for", &JobDetail::waiting_for)
        .def_property_readonly("spent",
                               [](const JobDetail& self) { return to_decimal(self.cost.spent); })
        .def_property_readonly("left",
                               [](const JobDetail& self) { return to_decimal(self.cost.left); })
        .def_property_readonly("refunded",
                               [](const JobDetail& self) { return to_decimal(self.cost.refunded); })
        .def_property_readonly("faults", [](const JobDetail& self) { return self.faults.size(); })
        .def_property_readonly("round_list",
                               [](const JobDetail& self) { return values_of(self.round_list); })
        .def_property_readonly("units", [](const JobDetail& self) {
            py::dict out;
            for (const auto& [state, count] : self.units)
                out[py::str(state)] = count;
            return out;
        });
}

void bind_dataset_record(py::module_& module) {
    using registry::Dataset;
    py::class_<Dataset>(module, "DatasetRecord")
        .def_property_readonly("root", [](const Dataset& self) { return self.root.hex(); })
        .def_property_readonly("owner", [](const Dataset& self) { return self.owner.hex(); })
        .def_readonly("name", &Dataset::name)
        .def_readonly("licence", &Dataset::licence)
        .def_readonly("tokens", &Dataset::tokens)
        .def_readonly("vocabulary", &Dataset::vocabulary)
        .def_property_readonly("tokenizer",
                               [](const registry::Dataset& self) -> std::optional<std::string> {
                                   if (!self.tokenizer) return std::nullopt;
                                   return self.tokenizer->hex();
                               })
        .def_property_readonly("manifest",
                               [](const Dataset& self) -> std::optional<std::string> {
                                   if (!self.manifest) return std::nullopt;
                                   return self.manifest->hex();
                               })
        .def_property_readonly(
            "price", [](const Dataset& self) { return to_decimal(self.price_wei_per_mtoken); })
        .def_readonly("quality_ppm", &Dataset::quality_ppm)
        .def_property_readonly("visibility", [](const Dataset& self) {
            return std::string(to_string(self.access.visibility));
        });
}

void bind_dataset_version(py::module_& module) {
    using registry::DatasetVersion;
    py::class_<DatasetVersion>(module, "DatasetVersion")
        .def_readonly("name", &DatasetVersion::name)
        .def_readonly("version", &DatasetVersion::version)
        .def_property_readonly("root", [](const DatasetVersion& self) { return self.root.hex(); })
        .def_property_readonly("owner",
                               [](const DatasetVersion& self) { return self.owner.hex(); });
}

void bind_account(py::module_& module) {
    using client::Account;
    auto account = py::class_<Account>(module, "Account");
    account.def_property_readonly("address",
                                  [](const Account& self) { return self.address.hex(); });
    const std::array<std::pair<const char*, Amount Account::*>, 7> amounts{{
        {"available", &Account::available},
        {"escrowed", &Account::escrowed},
        {"withdrawing", &Account::withdrawing},
        {"pending", &Account::pending},
        {"earned", &Account::earned},
        {"payable", &Account::payable},
        {"claimed", &Account::claimed},
    }};
    for (const auto& [name, member] : amounts)
        account.def_property_readonly(
            name, [member = member](const Account& self) { return to_decimal(self.*member); });
}

// Calls

std::string read_key(const std::string& file) {
    const auto secret = unwrap(crypto::read_secret_file(file));
    return {secret.view().begin(), secret.view().end()};
}

std::shared_ptr<ApiClient> open_api(const std::string& url, std::string key,
                                    const std::string& key_file, std::uint32_t retry_ms) {
    if (!key_file.empty()) key = read_key(key_file);
    return std::make_shared<ApiClient>(client::ApiOptions{
        .url = url, .key = std::move(key), .retry_for = std::chrono::milliseconds(retry_ms)});
}

/// The passphrase comes from the file, else from $GYM_PASSPHRASE.
plan::OrderSigner open_signer(const std::string& keystore, const std::string& passphrase_file,
                              const contracts::Deployment& network) {
    const char* const word = std::getenv("GYM_PASSPHRASE");
    if (passphrase_file.empty() && (word == nullptr || *word == '\0'))
        throw RaisedError(
            fail(ErrorCode::kInvalidArgument,
                 "no passphrase is named for " + keystore +
                     ": pass passphrase_file=FILE (of mode 0600), or set GYM_PASSPHRASE"));
    auto passphrase = passphrase_file.empty()
                          ? crypto::SecretBytes(std::string_view(word == nullptr ? "" : word))
                          : unwrap(crypto::read_secret_file(passphrase_file));
    return {unwrap(crypto::load_keystore(keystore, passphrase)),
            {network.chain_id, network.escrow}};
}

void bind_signer(py::module_& module) {
    py::class_<plan::OrderSigner>(module, "OrderSigner")
        .def(py::init(&open_signer), py::arg("keystore"), py::arg("passphrase_file"),
             py::arg("contracts"))
        .def_property_readonly(
            "owner", [](const plan::OrderSigner& self) { return self.key.address().hex(); });
}

using Accounts = std::vector<std::string>;

registry::Access access_of(const std::string& visibility, const Accounts& allow) {
    auto access = unwrap(registry::make_access(visibility, allow));
    if (access.visibility == registry::Visibility::kAllowList && allow.empty())
        throw RaisedError(fail(ErrorCode::kInvalidArgument,
                               "an allow-list names accounts: pass allow=[\"0xACCOUNT\"]; "
                               "private lets nobody else see it"));
    return access;
}

/// Nothing said: absent. Accounts alone are an allow-list.
std::optional<registry::Access> access_of(const std::optional<std::string>& visibility,
                                          const Accounts& allow) {
    if (!visibility && allow.empty()) return std::nullopt;
    return access_of(visibility.value_or("allow-list"), allow);
}

/// In plain words.
std::string who_sees_data(const ApiClient& api, const registry::Dataset& dataset) {
    return owner::who_sees_data(
        dataset.access, unlocked([&]() -> Result<Nodes> { return owner::count_nodes(api); }));
}
std::string who_sees_model(const ApiClient& api, const client::Job& job) {
    return owner::who_sees_model(
        job.access, unlocked([&]() -> Result<Nodes> { return owner::count_nodes(api); }));
}

/// @param reference empty: no name; @param tokenizer its files; empty: those beside `token_file`.
std::pair<registry::Dataset, std::optional<registry::DatasetVersion>> push_data(
    const ApiClient& self, const blob::Dataset& tokens, const std::string& token_file,
    const std::string& name, const std::string& reference, const std::string& licence,
    const std::string& price, const std::optional<std::string>& visibility, const Accounts& allow,
    const std::vector<std::pair<std::string, py::bytes>>& tokenizer, bool with_manifest) {
    owner::DataPush push{
        .terms = {name, licence, parse_amount(price, "price"), access_of(visibility, allow)},
        .token_file = token_file,
        .with_manifest = with_manifest};
    if (!reference.empty()) push.reference = unwrap(registry::parse_dataset_reference(reference));
    push.tokenizer.reserve(tokenizer.size());
    for (const auto& [file, content] : tokenizer) {
        const ByteView view = as_bytes(std::string_view(content));
        push.tokenizer.push_back({file, Bytes(view.begin(), view.end())});
    }
    owner::PushedData pushed = unlocked([&] { return owner::push_data(self, tokens, push); });
    std::optional<registry::DatasetVersion> version;
    if (pushed.version) version = std::move(pushed.version->value);
    return {std::move(pushed.record.value), std::move(version)};
}

void bind_job_calls(py::class_<ApiClient, std::shared_ptr<ApiClient>>& api) {
    api.def("job",
            [](const ApiClient& self, const std::string& id) {
                const Digest job = parse_digest(id, "job");
                return unlocked([&] { return self.job(job); }).value;
            })
        .def(
            "jobs",
            [](const ApiClient& self, const std::string& owner, std::uint32_t limit) {
                return values_of(
                    unlocked([&] { return self.jobs({.owner = owner, .limit = limit}); }));
            },
            py::arg("owner") = "", py::arg("limit") = 100)
        .def(
            "submit_job",
            [](const ApiClient& self, const std::string& yaml, const std::string& key,
               const plan::OrderSigner& signer, bool again) {
                const auto order = unwrap(signer.seal_job(yaml, key, SystemClock().now_ms()));
                return unlocked([&] { return self.submit_job(yaml, key, order, again); }).value;
            },
            py::arg("yaml"), py::arg("key"), py::arg("signer"), py::arg("again") = false)
        .def("check_signer",
             [](const ApiClient& self, const plan::OrderSigner& signer) {
                 const Address address = signer.key.address();
                 unlocked([&] { return owner::check_order_key(self, address); });
             })
        .def("fund_job",
             [](const ApiClient& self, const std::string& id, const std::string& amount,
                const std::string& key, const plan::OrderSigner& signer) {
                 const Digest job = parse_digest(id, "job");
                 const Amount tokens = parse_amount(amount, "amount");
                 const auto seal = signer.seal_funding(job, tokens, key, SystemClock().now_ms());
                 return unlocked([&] { return self.fund_job(job, tokens, key, seal); }).value;
             })
        .def("ask_job", [](const ApiClient& self, const std::string& id, const std::string& verb) {
            const Digest job = parse_digest(id, "job");
            return unlocked([&] { return self.ask_job(job, verb); }).value;
        });
}

void bind_dataset_calls(py::class_<ApiClient, std::shared_ptr<ApiClient>>& api) {
    api.def("dataset",
            [](const ApiClient& self, const std::string& root) -> std::optional<registry::Dataset> {
                const Digest digest = parse_digest(root, "dataset");
                auto found = unlocked([&] { return self.dataset(digest); });
                if (!found) return std::nullopt;
                return std::move(found->value);
            })
        .def(
            "datasets",
            [](const ApiClient& self, std::uint32_t limit, std::uint64_t offset) {
                return values_of(
                    unlocked([&] { return self.datasets({.limit = limit, .offset = offset}); }));
            },
            py::arg("limit") = client::kPageItemsMax, py::arg("offset") = 0)
        .def("push_data", &push_data, py::arg("tokens"), py::arg("token_file"), py::arg("name"),
             py::arg("reference"), py::arg("licence"), py::arg("price"), py::arg("visibility"),
             py::arg("allow"), py::arg("tokenizer"), py::arg("with_manifest"))
        .def("set_dataset_access",
             [](const ApiClient& self, const std::string& root, const std::string& visibility,
                const Accounts& allow) {
                 const Digest digest = parse_digest(root, "dataset");
                 const registry::Access access = access_of(visibility, allow);
                 return unlocked([&] { return self.set_dataset_access(digest, access); }).value;
             })
        .def("who_sees_data", &who_sees_data)
        .def("who_sees_model", &who_sees_model)
        .def(
            "make_mix",
            [](const ApiClient& self,
               const std::vector<std::pair<std::string, std::uint64_t>>& parts,
               std::uint64_t tokens, bool best_effort) {
                client::MixRequest request{.tokens = tokens, .best_effort = best_effort};
                request.parts.reserve(parts.size());
                for (const auto& [root, weight_ppm] : parts)
                    request.parts.push_back({parse_digest(root, "parts"), weight_ppm});
                registry::Dataset mix = unlocked([&] { return self.make_mix(request); });
                std::vector<std::tuple<std::string, std::string, std::uint64_t>> taken;
                taken.reserve(mix.parts.size());
                for (const registry::DatasetPart& part : mix.parts)
                    taken.emplace_back(part.name, part.root.hex(), part.tokens);
                return std::pair(std::move(mix), std::move(taken));
            },
            py::arg("parts"), py::arg("tokens") = 0, py::arg("best_effort") = false)
        .def("dataset_version",
             [](const ApiClient& self, const std::string& reference) {
                 const auto name = unwrap(registry::parse_dataset_reference(reference));
                 return unlocked([&] { return self.dataset_version(name); }).value;
             })
        .def("model_version", [](const ApiClient& self, const std::string& reference) {
            const auto name = unwrap(registry::parse_model_reference(reference));
            return unlocked([&] { return self.model_version(name); }).value;
        });
}

void bind_model_version(py::module_& module) {
    using registry::ModelVersion;
    py::class_<ModelVersion>(module, "ModelVersion")
        .def_readonly("name", &ModelVersion::name)
        .def_readonly("version", &ModelVersion::version)
        .def_readonly("licence", &ModelVersion::licence)
        .def_property_readonly("owner", [](const ModelVersion& self) { return self.owner.hex(); })
        .def_property_readonly("visibility",
                               [](const ModelVersion& self) {
                                   return std::string(registry::to_string(self.access.visibility));
                               })
        .def_property_readonly("state_root",
                               [](const ModelVersion& self) { return self.state.root.hex(); })
        .def_property_readonly("program_root",
                               [](const ModelVersion& self) { return self.program.root.hex(); });
}

}  // namespace

void bind_client(py::module_& module) {
    bind_job(module);
    bind_job_detail(module);
    bind_dataset_record(module);
    bind_dataset_version(module);
    bind_model_version(module);
    bind_account(module);
    bind_signer(module);
    module.attr("PAGE_ITEMS_MAX") = client::kPageItemsMax;
    module.def("read_key", &read_key);
    module.def("parse_init", [](const std::string& text) {
        return registry::to_string(unwrap(registry::parse_init(text)));
    });
    module.def("find_init_job", [](const std::shared_ptr<ApiClient>& api, const std::string& text) {
        if (!text.starts_with(registry::kInitJobPrefix))
            throw RaisedError(fail(ErrorCode::kInvalidArgument, text + " is no job:ID"));
        return registry::to_string(unlocked([&] { return owner::find_init_job(*api, text); }));
    });
    module.def("parse_dataset_name", [](const std::string& text) {
        return unwrap(registry::parse_dataset_reference(text)).name;
    });
    module.def("parse_model_name", [](const std::string& text) {
        return registry::to_string(unwrap(registry::parse_model_reference(text)));
    });
    auto api = py::class_<ApiClient, std::shared_ptr<ApiClient>>(module, "Api");
    api.def(py::init(&open_api), py::arg("url"), py::arg("key") = "", py::arg("key_file") = "",
            py::arg("retry_ms") = 0);
    api.def("check_health",
            [](const ApiClient& self) { (void)unlocked([&] { return self.health(); }); });
    api.def("account", [](const ApiClient& self, const std::string& address) {
        const auto parsed = Address::parse(address);
        const Address owner = unwrap(parsed);
        return unlocked([&] { return self.account(owner); }).value;
    });
    bind_job_calls(api);
    bind_dataset_calls(api);
}

}  // namespace gym::python
