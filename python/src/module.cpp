#include "bindings.hpp"
#include "errors.hpp"
#include "gym/common/secret_variables.hpp"

PYBIND11_MODULE(_zoo_gym, module) {
    module.doc() = "Gym's engine and client in C++. Use the classes of zoo_gym.";
    module.attr("__version__") = GYM_VERSION;
    module.attr("SECRET_VARIABLES") = pybind11::tuple(pybind11::cast(gym::kSecretVariables));
    gym::python::register_errors();
    gym::python::bind_engine(module);
    gym::python::bind_text(module);
    gym::python::bind_data(module);
    gym::python::bind_beside(module);
    gym::python::bind_network(module);
    gym::python::bind_client(module);
    gym::python::bind_model(module);
    gym::python::bind_plan(module);
}
