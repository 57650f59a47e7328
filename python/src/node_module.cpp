#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>

#include "errors.hpp"
#include "gym/node/doctor.hpp"
#include "gym/node/node_config.hpp"
#include "gym/node/stored_network.hpp"
#include "gym/records/node.hpp"
#include "gym/rpc/client.hpp"

/// What concerns a machine that is lent. A module of its own, which brings gRPC with it: who only
/// trains never loads it.
namespace gym::python {
namespace {

namespace py = pybind11;
using node::NodeConfig;
using records::NodeStatus;

Result<NodeStatus> status_of(const NodeConfig& config) {
    GYM_TRY(crypto::PrivateKey key, node::load_key(config));
    rpc::ClientConfig client = config.client({});
    client.attempts_max = 2;  // somebody waits for the answer
    const SystemClock clock;
    GYM_TRY(const auto coordinator, rpc::connect(client, std::move(key), clock));
    return coordinator->node_status(std::nullopt);
}

void bind_config(py::module_& module) {
    py::class_<NodeConfig>(module, "NodeConfig")
        .def_static("load",
                    [](const std::string& file) { return unwrap(node::load_node_config(file)); })
        .def_readwrite("network", &NodeConfig::network)
        .def_readwrite("coordinator", &NodeConfig::coordinator)
        .def_readwrite("tls_ca_file", &NodeConfig::tls_ca_file)
        .def_readwrite("chain_id", &NodeConfig::chain_id)
        .def_readwrite("commitment_log", &NodeConfig::commitment_log)
        .def_readwrite("chain_rpc", &NodeConfig::chain_rpc)
        .def_readwrite("dispute_game", &NodeConfig::dispute_game)
        .def_readwrite("api", &NodeConfig::api)
        .def_readwrite("device", &NodeConfig::device)
        .def_readwrite("threads", &NodeConfig::threads)
        .def_property(
            "data_dir", [](const NodeConfig& self) { return self.data_dir.string(); },
            [](NodeConfig& self, const std::string& path) { self.data_dir = path; })
        .def_property(
            "keystore", [](const NodeConfig& self) { return self.keystore_file.string(); },
            [](NodeConfig& self, const std::string& path) { self.keystore_file = path; })
        .def_property(
            "passphrase_file", [](const NodeConfig& self) { return self.passphrase_file.string(); },
            [](NodeConfig& self, const std::string& path) { self.passphrase_file = path; })
        .def("forget_network", [](NodeConfig& self) { node::forget_network(self); })
        .def("use_network", [](NodeConfig& self) { unwrap(node::use_network(self)); })
        .def("address",
             [](const NodeConfig& self) { return unwrap(node::key_address(self)).hex(); })
        .def("status",
             [](const NodeConfig& self) { return unlocked([&] { return status_of(self); }); })
        .def("doctor", [](const NodeConfig& self) {
            const py::gil_scoped_release release;
            return node::run_doctor(self);
        });
}

}  // namespace
}  // namespace gym::python

PYBIND11_MODULE(_zoo_gym_node, module) {
    namespace py = pybind11;
    using gym::node::Finding;
    using gym::records::NodeStatus;
    gym::python::register_errors();
    py::class_<Finding>(module, "Finding")
        .def_readonly("check", &Finding::check)
        .def_readonly("ok", &Finding::ok)
        .def_readonly("detail", &Finding::detail)
        .def("__repr__", [](const Finding& self) {
            return (self.ok ? "ok   " : "FAIL ") + self.check + ": " + self.detail;
        });
    py::class_<NodeStatus>(module, "NodeStatus")
        .def_property_readonly("address", [](const NodeStatus& self) { return self.address.hex(); })
        .def_property_readonly(
            "role", [](const NodeStatus& self) { return std::string(to_string(self.role)); })
        .def_readonly("excluded_because", &NodeStatus::excluded_because)
        .def_readonly("idle_because", &NodeStatus::idle_because)
        .def_readonly("stake_because", &NodeStatus::stake_because)
        .def_readonly("units_final", &NodeStatus::units_final)
        .def_readonly("units_rejected", &NodeStatus::units_rejected)
        .def_readonly("units_open", &NodeStatus::units_open)
        .def_readonly("uptime_ppm", &NodeStatus::uptime_ppm)
        .def_readonly("last_seen_ms", &NodeStatus::last_seen_ms);
    gym::python::bind_config(module);
}
