#include "errors.hpp"

namespace gym::python {

namespace py = pybind11;

void register_errors() {
    py::register_local_exception_translator([](std::exception_ptr raised) {
        try {
            if (raised) std::rethrow_exception(raised);
        } catch (const RaisedError& raised_error) {
            const Error& error = raised_error.error();
            try {
                const py::object made =
                    py::module_::import("zoo_gym.errors")
                        .attr("error_of")(std::string(to_string(error.code)), error.message);
                PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
            } catch (py::error_already_set& broken) {
                broken.restore();
            }
        }
    });
}

py::object to_decimal(const Amount& amount) {
    return py::module_::import("decimal").attr("Decimal")(amount.to_tokens());
}

Amount parse_amount(const std::string& tokens, const char* name) {
    const auto amount = Amount::parse_tokens(tokens);
    if (amount.ok()) return *amount;
    throw RaisedError(fail(ErrorCode::kInvalidArgument,
                           std::string(name) + ": '" + tokens.substr(0, 80) +
                               "' is not an amount of GYM like 12.5, with at most 18 decimals"));
}

Digest parse_digest(const std::string& text, const char* name) {
    const auto digest = Digest::parse(text);
    if (digest.ok()) return *digest;
    throw RaisedError(fail(ErrorCode::kInvalidArgument,
                           std::string(name) + ": '" + text.substr(0, 80) +
                               "' is not 64 hexadecimal digits, with or without 0x"));
}

}  // namespace gym::python
