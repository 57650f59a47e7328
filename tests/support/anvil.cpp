#include "anvil.hpp"

#include "gym/crypto/secret.hpp"

namespace gym::testing {
namespace {

/// The value, or the end of the program with the error's message.
template <class T>
T must(Result<T> result, const char* what) {
    if (!result.ok()) assertion_failed(what, result.error().message, __FILE__, __LINE__);
    return std::move(result).value();
}

}  // namespace

TestAnvil::TestAnvil(chain::AnvilOptions options)
    : options_(std::move(options)),
      folder_(std::filesystem::temp_directory_path() /
              ("gym-anvil-" + to_hex(crypto::random_digest().view()).substr(0, 16))) {
    start();
    client_ = must(chain::make_http_client(url()), "client");
}

TestAnvil::~TestAnvil() {
    node_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void TestAnvil::stop(bool crash) {
    if (crash) node_->kill();
    if (!crash) GYM_ASSERT(node_->stop().ok(), "anvil ends when asked to");
}

void TestAnvil::start() {
    node_.reset();
    node_.emplace(must(chain::PrivateAnvil::start(folder_, options_), "start of anvil"));
    options_.port = node_->port();
}

std::string TestAnvil::rpc(const std::string& method, const std::string& params_json) {
    return must(node_->rpc(method, params_json), "call of the node");
}

crypto::PrivateKey TestAnvil::funded_key(std::uint32_t index) {
    crypto::PrivateKey key = chain::private_chain_key(index);
    const Status funded =
        node_->fund(key.address(), Amount::parse("1000000000000000000000").value());
    if (!funded.ok()) assertion_failed("fund", funded.error().message, __FILE__, __LINE__);
    return key;
}

chain::TxPolicy test_policy(std::uint64_t chain_id) {
    chain::TxPolicy policy;
    policy.chain_id = chain_id;
    policy.poll_interval_ms = 20;
    policy.rebroadcast_ms = 200;
    return policy;
}

}  // namespace gym::testing
