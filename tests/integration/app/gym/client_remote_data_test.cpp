// Jobs on documents that are in a bucket.
#include "job_commands_fixture.hpp"
#include "object_store.hpp"

namespace gym::api::testing {
namespace {

namespace fs = std::filesystem;

class RemoteDataCommands : public JobCommandsTest {
  protected:
    void SetUp() override {
        JobCommandsTest::SetUp();  // first: TearDown() runs whatever fails here
        ASSERT_TRUE(gym::testing::has_test_tools()) << "`make setup` installs the npm packages";
        deposit(owner_, "200", "d1");
        store_.emplace(place_);
        ASSERT_FALSE(store_->url().empty());
        ::setenv("AWS_ENDPOINT_URL_S3", store_->url().c_str(), 1);
        put("a", "first");
    }
    void TearDown() override {
        ::unsetenv("AWS_ENDPOINT_URL_S3");
        JobCommandsTest::TearDown();
    }
    /// A document of prose, which the default steps keep.
    void put(const std::string& name, const std::string& word) {
        std::string text;
        for (int i = 0; i < 120; ++i)
            text += "The " + word + " sentence number " + std::to_string(i) +
                    " of the book is one that nobody has read before, and it ends here.\n";
        gym::testing::spill(place_ / name, text);
        store_->put(place_ / name, "docs/" + name + ".txt");
    }
    gym::testing::Outcome job(const char* command, const std::string& data) {
        std::vector<std::string> all{
            "job",        command, "--model",  (place_ / "model.yaml").string(),
            "--data",     data,    "--tokens", "1e3",
            "--nodes",    "1",     "--price",  "2",
            "--max-cost", "40",    "--set",    "evaluate_windows=1",
            "--json"};
        if (std::string_view(command) == "submit") all.insert(all.end(), {"--licence", "MIT"});
        return gym(std::move(all));
    }
    std::size_t kept() const {
        std::size_t count = 0;
        for (const auto& entry : fs::directory_iterator(place_ / ".gym/datasets"))
            count += entry.path().extension() == ".tokens" ? 1 : 0;
        return count;
    }

    std::optional<gym::testing::ObjectStore> store_;
};

TEST_F(RemoteDataCommands, AJobTrainsOnAPrefixThatIsBuiltOnce) {
    const auto submitted = job("submit", "s3://corpus/docs/");
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err << submitted.out;
    const std::string root(parse_line(submitted.out).at("dataset_root").as_string());
    EXPECT_EQ(kept(), 1U);
    // The same documents on this machine are the same dataset.
    fs::create_directory(place_ / "local");
    fs::copy(place_ / "a", place_ / "local/a.txt");
    const auto local = gym({"data", "build", (place_ / "local").string(), "-o",
                            (place_ / "local.tokens").string(), "--json"});
    ASSERT_EQ(local.exit_code, 0) << local.err;
    EXPECT_EQ(parse_line(local.out).at("dataset_root").as_string(), root);

    const auto again = job("quote", "s3://corpus/docs/");
    EXPECT_EQ(again.exit_code, 0) << again.err << again.out;
    EXPECT_EQ(kept(), 1U) << "the objects are the same";
    put("b", "second");
    const auto more = job("quote", "s3://corpus/docs/");
    EXPECT_EQ(more.exit_code, 0) << more.err << more.out;
    EXPECT_EQ(kept(), 2U) << "there is one more";
}

TEST_F(RemoteDataCommands, AUrlIsReadAsDocumentsAndAMissingOneIsSaid) {
    const auto root_of = [&](const std::string& data) {
        const auto quoted = job("quote", data);
        EXPECT_EQ(quoted.exit_code, 0) << quoted.err << quoted.out;
        return quoted.exit_code == 0
                   ? std::string(parse_line(quoted.out).at("dataset_root").as_string())
                   : data;
    };
    EXPECT_EQ(root_of(store_->url() + "/corpus/docs/a.txt"), root_of("s3://corpus/docs/a.txt"));
    const auto missing = job("quote", "s3://corpus/docs/c.txt");
    EXPECT_NE(missing.exit_code, 0);
    EXPECT_NE((missing.out + missing.err).find("s3://corpus/docs/c.txt"), std::string::npos)
        << missing.out << missing.err;
    const auto tokens = job("quote", "https://127.0.0.1:1/corpus.tokens");
    EXPECT_NE((tokens.out + tokens.err).find("download it"), std::string::npos)
        << tokens.out << tokens.err;
}

TEST_F(RemoteDataCommands, AMixTakesThem) {
    write_job("");
    const std::string text = gym::testing::slurp(place_ / "job.yaml");
    const std::string before = "dataset: text.txt\n";
    std::string mixed = text;
    mixed.replace(mixed.find(before), before.size(),
                  "data: [{dataset: s3://corpus/docs/, weight: 0.5}, {dataset: text.txt, weight: "
                  "0.5}]\n");
    gym::testing::spill(place_ / "job.yaml", mixed);
    const auto quoted = gym({"job", "quote", job_file(), "--json"});
    EXPECT_EQ(quoted.exit_code, 0) << quoted.err << quoted.out;
}

}  // namespace
}  // namespace gym::api::testing
