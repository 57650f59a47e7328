#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>

#include "bindings.hpp"
#include "errors.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/profile/store.hpp"

/// Networks that the user stored with `gym network add`.
namespace gym::python {
namespace {

namespace py = pybind11;
using contracts::Deployment;
using profile::StoredNetwork;

/// @param name empty: the default network, None without one.
std::optional<StoredNetwork> find_network(const std::string& name, const std::string& data_dir) {
    const profile::Store store({data_dir});
    if (name.empty()) return unwrap(store.find_default());
    return unwrap(store.find(name));
}

}  // namespace

void bind_network(py::module_& module) {
    py::class_<Deployment>(module, "Deployment")
        .def_static("load",
                    [](const std::string& path) {
                        return unlocked([&] { return contracts::load_deployment(path); });
                    })
        .def_readonly("chain_id", &Deployment::chain_id)
        .def_property_readonly("escrow", [](const Deployment& self) { return self.escrow.hex(); });
    py::class_<StoredNetwork>(module, "StoredNetwork")
        .def_readonly("name", &StoredNetwork::name)
        .def_property_readonly("api", [](const StoredNetwork& self) { return self.profile().api; })
        .def_readonly("chain", &StoredNetwork::chain_rpc)
        .def_property_readonly("contracts",
                               [](const StoredNetwork& self) { return self.profile().contracts; });
    module.def("find_network", &find_network, py::arg("name"), py::arg("data_dir"));
}

}  // namespace gym::python
