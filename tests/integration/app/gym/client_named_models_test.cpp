// Models under a name from the command line: pushed, pulled, and as weights that jobs begin from.
#include "gym/engine/state.hpp"
#include "gym/interchange/model_folder.hpp"
#include "job_commands_fixture.hpp"

namespace gym::api::testing {
namespace {

namespace fs = std::filesystem;

class NamedModelCommands : public JobCommandsTest {
  protected:
    void SetUp() override {
        JobCommandsTest::SetUp();
        deposit(owner_, "200", "d1");
        const std::string program = at("p.gym");
        ASSERT_EQ(gym({"program", "build", at("model.yaml"), "-o", program}).exit_code, 0);
        ASSERT_EQ(gym({"program", "run", program, "--data", at("text.txt"), "--steps", "2",
                       "--state", at("run")})
                      .exit_code,
                  0);
        const auto exported =
            gym({"program", "export", program, "--state", at("run"), "-o", at("folder"), "--json"});
        ASSERT_EQ(exported.exit_code, 0) << exported.err;
        root_ = std::string(parse_line(exported.out).at("base_root").as_string());
    }
    std::string at(const std::string& name) const { return (place_ / name).string(); }
    /// Runs with another account's key.
    gym::testing::Outcome as_other(std::vector<std::string> arguments) {
        const std::string own = std::getenv("GYM_API_KEY");
        if (other_key_.empty())
            other_key_ = create_key(*api_db_, address_of(2), "other", 1).value();
        ::setenv("GYM_API_KEY", other_key_.c_str(), 1);
        auto out = gym(std::move(arguments));
        ::setenv("GYM_API_KEY", own.c_str(), 1);
        return out;
    }

    std::string root_;  // of the folder's weights
    std::string other_key_;
};

TEST_F(NamedModelCommands, APushedFolderComesBackAndAJobBeginsFromItsName) {
    const auto pushed =
        gym({"model", "push", at("folder"), "zoo", "--licence", "Apache-2.0", "--json"});
    ASSERT_EQ(pushed.exit_code, 0) << pushed.err << pushed.out;
    const auto version = parse_line(pushed.out);
    EXPECT_EQ(version.at("version").to_number<int>(), 1);
    EXPECT_EQ(version.at("state").at("root").as_string(), root_);
    EXPECT_EQ(version.at("visibility").as_string(), "public");

    const auto pulled = as_other({"model", "pull", "zoo@1", "-o", at("copy"), "--json"});
    ASSERT_EQ(pulled.exit_code, 0) << pulled.err << pulled.out;
    const auto copy = interchange::read_model_folder(at("copy"));
    ASSERT_TRUE(copy.ok()) << copy.error().message;
    EXPECT_EQ(copy->state_root.hex(), root_);
    EXPECT_EQ(copy->name, "zoo@1");

    write_job("init: zoo\n");
    const auto quoted = gym({"job", "quote", job_file(), "--json"});
    EXPECT_EQ(quoted.exit_code, 0) << quoted.err << quoted.out;
    const auto submitted = gym({"job", "submit", job_file(), "--licence", "MIT", "--json"});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err << submitted.out;
    EXPECT_EQ(parse_line(submitted.out).at("init_root").as_string(), root_);
    EXPECT_NE(submitted.err.find("zoo@1"), std::string::npos) << submitted.err;
    EXPECT_EQ(submitted.err.find("uploading"), std::string::npos) << submitted.err;
    const Digest id = backend().jobs({}).value().front().id;
    const registry::Job job = backend().job(id).value().job;  // lists leave the job file out
    EXPECT_NE(job.spec_yaml.find("init: \"" + root_ + "\""), std::string::npos) << job.spec_yaml;
}

TEST_F(NamedModelCommands, OfAnotherShapeIsRefusedWithAllTensors) {
    ASSERT_EQ(gym({"model", "push", at("folder"), "zoo", "--licence", "MIT"}).exit_code, 0);
    write_job("init: zoo@1\n");
    const auto folder = interchange::read_model_folder(at("folder")).value();
    const auto wide = [&](std::vector<std::string> command) {
        command.insert(command.end(), {job_file(), "--set", "model.model.width=32", "--json"});
        return gym(std::move(command));
    };
    for (const auto& refused :
         {wide({"job", "quote"}), wide({"job", "submit", "--licence", "MIT"})}) {
        EXPECT_NE(refused.exit_code, 0);
        for (const auto& tensor : folder.base.tensors)
            EXPECT_NE(refused.out.find("'" + tensor.name + "'"), std::string::npos) << refused.out;
    }
    EXPECT_TRUE(backend().jobs({})->empty());
    EXPECT_EQ(count("registry.dataset"), 1U) << "the fixture's: nothing was registered";
    ::unsetenv("GYM_API_KEY");
    const auto keyless = wide({"job", "quote"});
    EXPECT_EQ(keyless.exit_code, 0) << keyless.out;
    EXPECT_NE(keyless.out.find("fit the model is not checked"), std::string::npos) << keyless.out;
}

TEST_F(NamedModelCommands, LocalTrainingBeginsFromANameAndFetchesItOnce) {
    ASSERT_EQ(gym({"model", "push", at("folder"), "zoo"}).exit_code, 0);
    const auto train = [&](const std::string& init, const std::string& state) {
        return gym({"program", "run", at("p.gym"), "--data", at("text.txt"), "--steps", "1",
                    "--init", init, "--state", at(state), "--json"});
    };
    const auto named = train("zoo", "s1");
    ASSERT_EQ(named.exit_code, 0) << named.err << named.out;
    const auto from_disk = train(at("folder"), "s2");
    ASSERT_EQ(from_disk.exit_code, 0) << from_disk.err;
    EXPECT_EQ(named.out.substr(0, named.out.find('\n')),
              from_disk.out.substr(0, from_disk.out.find('\n')))
        << "the first step's record";
    EXPECT_TRUE(fs::exists(place_ / ".gym/models"));
    const auto again = train("zoo@1", "s3");
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(again.err.find("downloading"), std::string::npos) << "it is here";
    const auto unknown = train("zoo2", "s4");
    EXPECT_NE(unknown.exit_code, 0);
    EXPECT_NE((unknown.err + unknown.out).find("no file or folder zoo2"), std::string::npos)
        << unknown.err << unknown.out;
}

TEST_F(NamedModelCommands, APrivateNameDoesNotExistForOthersUntilItsOwnerSaysSo) {
    ASSERT_EQ(gym({"model", "push", at("folder"), "zoo"}).exit_code, 0);
    EXPECT_NE(gym({"model", "registered"}).out.find("zoo@1"), std::string::npos);
    EXPECT_NE(gym({"model", "versions", "zoo"}).out.find(root_), std::string::npos);
    EXPECT_EQ(as_other({"model", "registered"}).out.find("zoo"), std::string::npos);
    EXPECT_NE(as_other({"model", "pull", "zoo", "-o", at("copy")}).exit_code, 0);
    EXPECT_NE(as_other({"model", "push", at("folder"), "zoo"}).exit_code, 0) << "the name is taken";
    const auto opened = gym({"model", "visibility", "zoo", "--allow", address_of(2).hex()});
    ASSERT_EQ(opened.exit_code, 0) << opened.err;
    EXPECT_EQ(as_other({"model", "pull", "zoo", "-o", at("copy")}).exit_code, 0);
}

TEST_F(NamedModelCommands, WeightsThatDoNotSayTheirModelNeedIt) {
    const auto unsaid = gym({"model", "push", at("run"), "zoo"});
    EXPECT_NE(unsaid.exit_code, 0);
    EXPECT_NE(unsaid.err.find("--model"), std::string::npos) << unsaid.err;
    const auto said =
        gym({"model", "push", at("run"), "zoo", "--model", at("model.yaml"), "--json"});
    ASSERT_EQ(said.exit_code, 0) << said.err << said.out;
    EXPECT_EQ(parse_line(said.out).at("state").at("root").as_string(), root_);
    // A folder of other software, without our files: its config says the model.
    fs::create_directory(place_ / "theirs");
    for (const char* name : {"config.json", "model.safetensors"})
        fs::copy(place_ / "folder" / name, place_ / "theirs" / name);
    const auto theirs = gym({"model", "push", at("theirs"), "other", "--json"});
    ASSERT_EQ(theirs.exit_code, 0) << theirs.err << theirs.out;
}

}  // namespace
}  // namespace gym::api::testing
