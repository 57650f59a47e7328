#pragma once

#include <boost/json.hpp>
#include <cstdlib>
#include <string>

#include "gym/common/bytes.hpp"
#include "gym/common/file.hpp"

namespace gym::testing {

/// tests/vectors/ethereum.json: what another implementation computed. Aborts if it cannot be read.
inline const boost::json::object& ethereum_vectors() {
    static const boost::json::value* const vectors = [] {
        const char* root = std::getenv("GYM_SOURCE_DIR");
        const auto content =
            read_file(std::string(root ? root : ".") + "/tests/vectors/ethereum.json");
        GYM_ASSERT(content.ok(), "run through ctest, or with GYM_SOURCE_DIR set");
        return new boost::json::value(
            boost::json::parse({reinterpret_cast<const char*>(content->data()), content->size()}));
    }();
    return vectors->as_object();
}

inline std::string text_at(const boost::json::value& vector, const char* name) {
    return std::string(vector.as_object().at(name).as_string());
}
inline Bytes bytes_at(const boost::json::value& vector, const char* name) {
    return from_hex(text_at(vector, name)).value();
}
template <class Fixed>
Fixed fixed_at(const boost::json::value& vector, const char* name) {
    return Fixed::from(bytes_at(vector, name)).value();
}

}  // namespace gym::testing
