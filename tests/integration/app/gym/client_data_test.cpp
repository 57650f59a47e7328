// Datasets from the shell against a real gym-api: licences of documents, names.
#include <filesystem>

#include "job_commands_fixture.hpp"

namespace gym::api {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using gym::testing::spill;
using testing::address_of;

class ClientDataTest : public testing::JobCommandsTest {
  protected:
    std::string path(const std::string& name) const { return (place_ / name).string(); }
    /// A folder of documents, each of them under the licence.
    void put_documents(const std::string& licence) {
        std::string lines;
        for (int i = 0; i < 60; ++i)
            lines += json::serialize(json::object{
                         {"text", "text number " + std::to_string(i * i * 7919) + " of many"},
                         {"licence", licence}}) +
                     "\n";
        fs::create_directories(place_ / "jl");
        spill(place_ / "jl/part0.jsonl", lines);
    }
    void build() {
        const auto built = gym({"data", "build", path("jl"), "-o", path("c2"), "--steps", "none"});
        ASSERT_EQ(built.exit_code, 0) << built.err;
        built_ = built.out;
    }
    std::string built_;
};

TEST_F(ClientDataTest, ADatasetIsRegisteredUnderNoLooserLicenceThanItsDocuments) {
    put_documents("CC-BY-NC-4.0");
    build();
    EXPECT_NE(built_.find("licences           60 CC-BY-NC-4.0"), std::string::npos) << built_;
    const std::uint64_t before = count("registry.dataset");
    const auto refused = gym({"data", "register", path("c2"), "--licence", "CC-BY-4.0"});
    EXPECT_EQ(refused.exit_code, 5) << refused.out;
    EXPECT_NE(refused.err.find("60 documents are under CC-BY-NC-4.0"), std::string::npos)
        << refused.err;
    EXPECT_EQ(count("registry.dataset"), before);
    const auto taken = gym({"data", "register", path("c2"), "--json"});
    ASSERT_EQ(taken.exit_code, 0) << taken.err << taken.out;
    EXPECT_EQ(parse_line(taken.out).at("licence").as_string(), "CC-BY-NC-4.0");
    EXPECT_EQ(gym({"data", "register", path("text.txt")}).exit_code, 2) << "nothing names one";
    const auto folder = gym({"data", "register", path("jl"), "--licence", "MIT"});
    EXPECT_EQ(folder.exit_code, 2);
    EXPECT_NE(folder.err.find("`gym data build"), std::string::npos) << folder.err;
}

TEST_F(ClientDataTest, AJobOnAFolderIsBoundByTheLicencesOfItsDocuments) {
    put_documents("CC-BY-NC-4.0");
    deposit(owner_, "100", "d1");
    const auto write = [&](const std::string& extra) {
        spill(place_ / "job.yaml",
              "name: j\nmodel: model.yaml\ndataset: jl\nrounds: 3\nslots: 2\n"
              "steps_per_round: 4\nprice_per_pflop: 2\nbudget: 40\n" +
                  extra);
    };
    write("");
    const auto quoted = gym({"job", "quote", job_file()});
    EXPECT_NE((quoted.out + quoted.err).find("60 documents are under CC-BY-NC-4.0"),
              std::string::npos)
        << quoted.out << quoted.err;
    for (const char* licence : {"CC-BY-NC-4.0", "CC-BY-4.0"}) {
        const auto refused = gym({"job", "submit", job_file(), "--licence", licence});
        EXPECT_EQ(refused.exit_code, 5) << refused.out;
        EXPECT_NE(refused.err.find("60 documents are under CC-BY-NC-4.0"), std::string::npos)
            << refused.err;
    }
    write("use: non-commercial\n");
    const auto looser = gym({"job", "submit", job_file(), "--licence", "CC-BY-4.0"});
    EXPECT_EQ(looser.exit_code, 5) << looser.out;
    const auto permitted = gym({"job", "submit", job_file(), "--json"});
    ASSERT_EQ(permitted.exit_code, 0) << permitted.err << permitted.out;
    EXPECT_EQ(parse_line(permitted.out).at("data_licence").as_string(), "CC-BY-NC-4.0");
}

TEST_F(ClientDataTest, ANameOfAnotherOwnerIsRefusedBeforeAnythingIsRegistered) {
    const auto enter = [&](const std::string& name, const std::string& as) {
        spill(place_ / name, name + std::string(3'000, name[0]));
        return gym({"data", "register", path(name), "--licence", "MIT", "--as", as});
    };
    ASSERT_EQ(enter("first.txt", "taken").exit_code, 0);
    const std::uint64_t before = count("registry.dataset");
    EXPECT_EQ(enter("second.txt", "taken@7").exit_code, 5) << "versions follow each other";
    ::setenv("GYM_API_KEY", create_key(*api_db_, address_of(2), "other", 1).value().c_str(), 1);
    const auto refused = enter("second.txt", "taken");
    EXPECT_EQ(refused.exit_code, 5) << refused.out;
    EXPECT_NE(refused.err.find("the name taken belongs to another owner"), std::string::npos)
        << refused.err;
    EXPECT_EQ(count("registry.dataset"), before);
    EXPECT_EQ(enter("second.txt", "free").exit_code, 0);
    EXPECT_EQ(count("registry.dataset"), before + 1);
}

TEST_F(ClientDataTest, ADatasetIsShownByItsNameAndVersion) {
    for (const char* name : {"my-corpus", "second-name"}) {
        clock_.advance_ms(1);
        ASSERT_EQ(
            gym({"data", "register", path("text.txt"), "--licence", "MIT", "--as", name}).exit_code,
            0);
    }
    const auto list = gym({"data", "list"});
    EXPECT_NE(list.out.find("second-name@1\n"), std::string::npos) << list.out;
    const auto shown = gym({"data", "show", "my-corpus", "--api", std::getenv("GYM_API")});
    for (const char* row :
         {"name               second-name@1\n", " my-corpus@1\n", "label              text.txt\n"})
        EXPECT_NE(shown.out.find(row), std::string::npos) << row << " in:\n" << shown.out;
    const auto first = parse_line(gym({"data", "list", "--json"}).out);
    EXPECT_EQ(json::serialize(first.at("names")), R"(["second-name@1","my-corpus@1"])");
}

}  // namespace
}  // namespace gym::api
