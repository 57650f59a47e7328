#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "gym/common/bytes.hpp"

namespace gym::testing {

/// tests/vectors/drand.json: beacons of a drand chain of our own, and broken ones. Aborts if it
/// cannot be read.
class DrandVectors {
  public:
    DrandVectors() {
        const char* const source = std::getenv("GYM_SOURCE_DIR");
        std::ifstream file(std::string(source != nullptr ? source : ".") +
                           "/tests/vectors/drand.json");
        std::stringstream text;
        text << file.rdbuf();
        root_ = boost::json::parse(text.str()).as_object();
    }

    /// Of rounds 1 to 64.
    [[nodiscard]] Bytes signature(std::uint64_t round) const {
        return bytes(rounds().at(round - 1).at("signature"));
    }
    [[nodiscard]] Digest randomness(std::uint64_t round) const {
        return Digest::parse(std::string(rounds().at(round - 1).at("randomness").as_string()))
            .value();
    }
    [[nodiscard]] Bytes public_key() const {
        return bytes(root_.at("chain").at("public_key_uncompressed"));
    }
    /// The signature with this name in the file, which does not fit any round.
    [[nodiscard]] Bytes broken(const std::string& name) const {
        return bytes(root_.at("broken").at(name).at("signature"));
    }
    [[nodiscard]] Bytes quicknet_public_key() const {
        return bytes(root_.at("quicknet").at("public_key_uncompressed"));
    }
    [[nodiscard]] Bytes quicknet_signature() const {
        return bytes(root_.at("quicknet").at("signature"));
    }

  private:
    [[nodiscard]] const boost::json::array& rounds() const {
        return root_.at("chain").at("rounds").as_array();
    }
    static Bytes bytes(const boost::json::value& text) {
        return from_hex(std::string_view(text.as_string())).value();
    }

    boost::json::object root_;
};

}  // namespace gym::testing
