#include "operator/sign_profile.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/network_options.hpp"
#include "cli/rows.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/file.hpp"
#include "gym/profile/fetch.hpp"
#include "operator/profile_file.hpp"

namespace gym::app {
namespace {

struct SignFlags {
    KeyOptions keys;
    std::string file;
    std::string out;
};

Status sign_profile(const CliContext& context, const SignFlags& flags) {
    GYM_TRY(const ProfileFile file, load_profile_file(flags.file));
    GYM_TRY(profile::NetworkProfile profile, complete_profile(file, SystemClock().now_ms()));
    GYM_CHECK(profile::find_chain_rpc(profile));
    GYM_TRY(const node::NodeConfig keys, flags.keys.config());
    GYM_TRY(const crypto::PrivateKey key, node::load_key(keys));
    const profile::SignedProfile signed_profile = profile::sign(std::move(profile), key);
    GYM_CHECK(
        write_file_atomic(flags.out, as_bytes(profile::to_json(signed_profile) + "\n"), 0644));
    const std::string signer = crypto::to_checksum(key.address());
    const std::string command =
        "gym network add NAME " + signed_profile.profile.api + " --operator " + signer;
    if (context.json) {
        context.print_json({{"operator", signer},
                            {"chain_id", signed_profile.profile.contracts.chain_id},
                            {"issued_at_ms", signed_profile.profile.issued_at_ms},
                            {"profile", flags.out},
                            {"command", command}});
        return {};
    }
    print_row("operator", "{}", signer);
    print_row("chain", "{}", signed_profile.profile.contracts.chain_id);
    print_row("written", "{}", flags.out);
    print_line(
        "name it in gym-api's configuration (network_profile) and restart gym-api; then "
        "publish: {}",
        command);
    return {};
}

}  // namespace

void add_sign_profile_command(CLI::App& group, CliContext& context) {
    auto flags = std::make_shared<SignFlags>();
    CLI::App* command = group.add_subcommand(
        "sign-profile", "Sign what others need to join the network, for gym-api to serve");
    command
        ->add_option("file", flags->file,
                     "The network's description (deploy/config/profile.yaml explains every key)")
        ->required();
    command->add_option("--out", flags->out, "Write the signed profile to this file")
        ->default_val("profile.json");
    flags->keys.add_to(*command, true);
    command->callback([&context, flags] { context.finish(sign_profile(context, *flags)); });
}

}  // namespace gym::app
