#include "anvil.hpp"

#include <algorithm>

#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/crypto/secret.hpp"
#include "must.hpp"

namespace gym::testing {
namespace {

constexpr int kPollsMax = 10'000;

/// The first text in a JSON text's quotes.
std::string unquoted(const std::string& json) {
    const std::size_t first = json.find('"'), last = json.find('"', first + 1);
    GYM_ASSERT(last != std::string::npos, "the node answers with a text");
    return json.substr(first + 1, last - first - 1);
}

std::string field(const char* name, const std::string& text) {
    return std::string(",\"") + name + "\":\"" + text + "\"";
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

void TestAnvil::save() {
    GYM_ASSERT(options_.persist, "only such a node reads it again");
    const Bytes packed = must(from_hex(unquoted(rpc("anvil_dumpState", "[true]"))), "state");
    const std::string file = (folder_ / "anvil-state.json").string();
    if (const Status written = write_file_atomic(file + ".gz", packed); !written.ok())
        assertion_failed("state", written.error().message, __FILE__, __LINE__);
    SubprocessOptions unpack;
    unpack.argv = {"gzip", "--decompress", "--force", file + ".gz"};
    must(run_command(unpack, 20'000), "gzip");
}

std::string TestAnvil::rpc(const std::string& method, const std::string& params_json) {
    return must(node_->rpc(method, params_json), "call of the node");
}

Address TestAnvil::node_account() {
    return must(Address::parse(unquoted(rpc("eth_accounts", "[]"))), "the node's account");
}

std::string quantity(const Amount& amount) {
    std::string digits = to_hex(amount.to_be32());
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
    return "0x" + digits;
}

chain::Receipt TestAnvil::transact(const NodeTransaction& tx) {
    std::string json = "[{\"from\":\"" + tx.from.hex() + "\"";
    if (tx.to) json += field("to", tx.to->hex());
    if (tx.gas_price_wei) json += field("gasPrice", quantity(*tx.gas_price_wei));
    json += field("gas", quantity(Amount(tx.gas))) + field("value", quantity(tx.value_wei)) +
            field("data", to_hex0x(tx.data)) + "}]";
    const Digest hash = must(Digest::parse(unquoted(rpc("eth_sendTransaction", json))), "hash");
    for (int i = 0; i < kPollsMax; ++i) {
        const auto receipt = must(client_->receipt(hash), "receipt");
        if (receipt) return *receipt;  // the node answers before it has mined the transaction
    }
    assertion_failed("receipt", "none came", __FILE__, __LINE__);
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
