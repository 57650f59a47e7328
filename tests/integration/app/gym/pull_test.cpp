// `gym data pull` against a real gym-api.
#include <algorithm>
#include <filesystem>

#include "gym/data/manifest.hpp"
#include "job_commands_fixture.hpp"
#include "small_tokenizer.hpp"

namespace gym::api {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using gym::testing::slurp;
using gym::testing::spill;
using testing::address_of;

class PullTest : public testing::JobCommandsTest {
  protected:
    struct Registered {
        fs::path file;
        std::string root;
    };
    /// A token file of a text of its own, registered under the given options.
    /// @param build how the text is built: --text writes no manifest.
    Registered enter(char letter, std::vector<std::string> options,
                     const std::vector<std::string>& build = {"--text"}) {
        const fs::path text = place_ / (std::string(1, letter) + ".txt");
        const fs::path file = place_ / (std::string(1, letter) + ".tokens");
        std::string content;
        for (int i = 0; i < 400; ++i)
            content += std::string(1, letter) + " line " + std::to_string(i) + "\n";
        spill(text, content);
        std::vector<std::string> built{"data", "build", text.string(), "-o", file.string()};
        built.insert(built.begin() + 2, build.begin(), build.end());
        succeed(built);
        options.insert(options.begin(), {"data", "register", file.string(), "--yes", "--json"});
        const auto root = parse_line(succeed(options)).at("root").as_string();
        return {file, std::string(root)};
    }
    std::string succeed(const std::vector<std::string>& arguments) {
        const auto done = gym(arguments);
        EXPECT_EQ(done.exit_code, 0) << done.err << done.out;
        return done.out;
    }
    gym::testing::Outcome pull(const std::string& dataset) {
        return gym({"data", "pull", dataset, "-o", pulled().string(), "--json"});
    }
    fs::path pulled() const { return place_ / "pulled"; }
    /// Files in the folder whose names begin like the output's.
    std::ptrdiff_t outputs() const {
        return std::ranges::count_if(fs::directory_iterator(place_ / ""), [](const auto& entry) {
            return entry.path().filename().string().starts_with("pulled");
        });
    }
};

TEST_F(PullTest, ADatasetIsFetchedByRootByNameAndByVersion) {
    const Registered first = enter('a', {"--licence", "MIT", "--as", "corpus"});
    const Registered second = enter('b', {"--licence", "MIT", "--as", "corpus"});
    ASSERT_NE(slurp(first.file), slurp(second.file));
    const std::vector<std::pair<std::string, const Registered*>> names{
        {"corpus", &second},
        {"corpus@1", &first},
        {"corpus@2", &second},
        {first.root, &first},
        {second.root.substr(0, 12), &second}};
    for (const auto& [name, expected] : names) {
        const auto done = pull(name);
        ASSERT_EQ(done.exit_code, 0) << name << ": " << done.err;
        EXPECT_EQ(parse_line(done.out).at("dataset_root").as_string(), expected->root) << name;
        EXPECT_EQ(slurp(pulled()), slurp(expected->file)) << name;
        EXPECT_EQ(outputs(), 1) << name;
    }
    // What was fetched is what a job can train on.
    succeed({"data", "verify", pulled().string(), "--root", second.root});
}

TEST_F(PullTest, AManifestIsItsOwnersToGive) {
    const std::vector<std::string> documents{"--steps", "none"};
    const Registered given = enter('b', {"--licence", "MIT"}, documents);
    ASSERT_EQ(pull(given.root).exit_code, 0);
    EXPECT_EQ(outputs(), 2);
    EXPECT_EQ(slurp(data::manifest_path(pulled())), slurp(data::manifest_path(given.file)));
    succeed({"data", "verify", pulled().string()});
    fs::remove(data::manifest_path(pulled()));
    const Registered kept = enter('a', {"--licence", "MIT", "--no-manifest"}, documents);
    ASSERT_EQ(pull(kept.root).exit_code, 0);
    EXPECT_EQ(outputs(), 1) << "without a manifest";
    const auto again = parse_line(
        succeed({"data", "register", kept.file.string(), "--yes", "--licence", "MIT", "--json"}));
    const auto known = data::read_manifest(data::manifest_path(kept.file), [](const auto&) {
                           return Status();
                       }).value();
    EXPECT_EQ(again.at("manifest").as_string(), known.root.hex());
    const auto shown = gym({"data", "show", kept.root});
    EXPECT_NE(shown.out.find("manifest           " + known.root.hex()), std::string::npos)
        << shown.out;
    // Another one for the same tokens changes nothing.
    const auto path = data::manifest_path(kept.file);
    std::string text = slurp(path);
    const auto at = text.find("a.txt");
    ASSERT_NE(at, std::string::npos) << text;
    spill(path, text.replace(at, 5, "z.txt"));
    succeed({"data", "register", kept.file.string(), "--yes", "--licence", "MIT"});
    ASSERT_EQ(pull(kept.root).exit_code, 0);
    EXPECT_NE(slurp(data::manifest_path(pulled())), text);
}

TEST_F(PullTest, AManifestTellsTheTokenBetweenDocuments) {
    // An empty line stands between documents of bytes, which stands within them, too.
    enter('b', {"--licence", "MIT", "--as", "bytes"}, {"--steps", "none"});
    enter('a', {"--licence", "MIT", "--as", "text"});
    const fs::path tokenizer = place_ / "tok";
    fs::create_directory(tokenizer);
    spill(tokenizer / "tokenizer.json",
          json::serialize(gym::testing::small_tokenizer_json(gym::testing::small_merges())));
    const Registered pieces = enter('c', {"--licence", "MIT", "--as", "pieces"},
                                    {"--steps", "none", "--tokenizer", tokenizer.string()});
    const std::string model = (place_ / "wide.yaml").string();
    spill(model,
          "batch: 2\nmodel: {vocabulary: 266, context: 8, layers: 1, heads: 2, width: 16}\n");
    const auto quote = [&](const std::string& data) {
        return gym({"job", "quote", "--model", model, "--data", data, "--set", "rounds=1", "--set",
                    "slots=1", "--set", "steps_per_round=1", "--price", "2", "--set", "budget=40",
                    "--no-bench", "--json", "--keep-documents-apart"});
    };
    const auto apart = quote("pieces");
    ASSERT_EQ(apart.exit_code, 0) << apart.err;
    EXPECT_NE(parse_line(apart.out).at("spec").as_string().find("document_separator: 265"),
              json::string::npos)
        << apart.out;
    const auto same = quote(pieces.file.string());
    ASSERT_EQ(same.exit_code, 0) << same.err;
    const auto empty_line = quote("bytes");
    EXPECT_EQ(empty_line.exit_code, 2) << empty_line.out;
    EXPECT_NE(empty_line.out.find("they have an empty line between them"), std::string::npos)
        << empty_line.out;
    const auto none = quote("text");
    EXPECT_NE(none.exit_code, 0);
    EXPECT_NE(none.out.find("gave no manifest"), std::string::npos) << none.out;
    EXPECT_NE(none.out.find("--set model.model.document_separator=TOKEN"), std::string::npos)
        << none.out;

    ASSERT_EQ(pull("pieces").exit_code, 0);
    EXPECT_TRUE(fs::exists(pulled().string() + ".tokenizer")) << "a training can export it";
}

TEST_F(PullTest, WhatCannotBeFetchedIsToldWhyAndLeavesNothing) {
    const Registered kept = enter('a', {"--licence", "LicenseRef-private", "--as", "kept"});
    const Registered sold = enter('b', {"--licence", "MIT", "--price", "1", "--as", "sold"});
    ASSERT_EQ(pull("kept").exit_code, 0) << "its owner may";
    fs::remove(pulled());
    ::setenv("GYM_API_KEY", create_key(*api_db_, address_of(2), "other", 1).value().c_str(), 1);
    const std::vector<std::pair<std::string, std::string>> refusals{
        {"kept", "no dataset has the name kept"},
        {sold.root, "has a price"},
        {"nothing", "nothing"},
        {"kept@9", "kept"},
        {"0x1234", "0x1234"}};
    for (const auto& [name, words] : refusals) {
        const auto done = pull(name);
        EXPECT_NE(done.exit_code, 0) << name;
        EXPECT_NE((done.err + done.out).find(words), std::string::npos) << done.err << done.out;
        EXPECT_EQ(outputs(), 0) << name;
    }
    ::unsetenv("GYM_API_KEY");
    const auto done = pull("sold");
    EXPECT_NE(done.exit_code, 0);
    EXPECT_NE((done.err + done.out).find("name yours with --api-key-file or GYM_API_KEY"),
              std::string::npos)
        << done.err << done.out;
    EXPECT_EQ((done.err + done.out).find("\"status\""), std::string::npos) << "no raw answer";
}

TEST_F(PullTest, AJobTrainsOnAMixOfRegisteredDatasetsAndFiles) {
    const Registered first = enter('a', {"--licence", "MIT", "--as", "first"});
    const Registered second = enter('b', {"--licence", "CC0-1.0"});
    spill(place_ / "mine.txt", std::string(3'000, 'c'));
    const auto write = [&](const std::string& data) {
        spill(place_ / "mix.yaml",
              "name: on a mix\nmodel: model.yaml\n" + data +
                  "\nrounds: 3\nslots: 2\nsteps_per_round: 4\nprice_per_pflop: 2\nbudget: 40\n");
    };
    write("data:\n  - {dataset: first@1, weight: 0.5}\n  - {root: \"" + second.root +
          "\", weight: 0.3}\n  - {dataset: mine.txt, weight: 0.2}");
    deposit(owner_, "100", "d1");
    const std::string file = (place_ / "mix.yaml").string();
    const auto submitted = gym({"job", "submit", file, "--licence", "MIT"});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err << submitted.out;
    EXPECT_NE(submitted.err.find("50.0"), std::string::npos) << submitted.err;
    EXPECT_NE(submitted.err.find("first@1 (MIT)"), std::string::npos) << submitted.err;
    const auto jobs = backend().jobs({}).value();
    ASSERT_EQ(jobs.size(), 1U);
    const auto registered =
        backend().dataset(jobs[0].dataset_root, registry::Viewer::service()).value();
    EXPECT_EQ(registered.licence, "CC0-1.0 AND MIT") << "of all parts";
    EXPECT_EQ(backend().datasets({.viewer = registry::Viewer::account(address_of(9))})->size(), 3U)
        << "the fixture's text and both that were entered: to train on a file is not to publish it";
    const auto pulled_mix = pull(jobs[0].dataset_root.hex());
    ASSERT_EQ(pulled_mix.exit_code, 0) << pulled_mix.err;
    const std::string tokens = slurp(pulled());
    const auto share = [&](const char letter) {
        return static_cast<double>(std::ranges::count(tokens, letter)) /
               static_cast<double>(tokens.size() / 2);
    };
    EXPECT_NEAR(share('c'), 0.2, 0.001);
    // The same files give the same dataset: its registration is found.
    const auto again = gym({"job", "quote", file, "--json"});
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_NE(again.out.find(jobs[0].dataset_root.hex()), std::string::npos);
    // A quote takes the key that its data needs in the same two ways as a submission.
    spill(place_ / "api.key", std::string(std::getenv("GYM_API_KEY")));
    fs::permissions(place_ / "api.key", fs::perms::owner_read | fs::perms::owner_write);
    fs::remove_all(place_ / ".gym/mixes");
    const std::string key = std::getenv("GYM_API_KEY");
    ::unsetenv("GYM_API_KEY");
    const auto keyless = gym({"job", "quote", file, "--json"});
    EXPECT_EQ(keyless.err.find("\"status\""), std::string::npos) << keyless.err;
    const auto quoted =
        gym({"job", "quote", file, "--json", "--api-key-file", (place_ / "api.key").string()});
    EXPECT_EQ(quoted.exit_code, 0) << quoted.err;
    ::setenv("GYM_API_KEY", key.c_str(), 1);

    for (const auto& [data, words] : std::vector<std::pair<std::string, std::string>>{
             {"data: [{dataset: first, weight: 1}]", "2 to"},
             {"data: [{dataset: first, weight: 1}, {dataset: nowhere, weight: 1}]", "nowhere"},
             {"data: [{dataset: first, weight: 0}, {dataset: mine.txt, weight: 1}]", "weight"},
             {"data: [{dataset: first, wieght: 1}, {dataset: mine.txt, weight: 1}]", "weight"},
             {"dataset: first\ndata: [{dataset: first, weight: 1}, {dataset: mine.txt, weight: 1}]",
              "one of them"}}) {
        write(data);
        const auto refused = gym({"job", "submit", file, "--licence", "MIT"});
        EXPECT_NE(refused.exit_code, 0) << data;
        EXPECT_NE(refused.err.find(words), std::string::npos) << data << ": " << refused.err;
    }
    enter('e', {"--licence", "CC-BY-NC-4.0", "--as", "not-for-sale"});
    write("data: [{dataset: not-for-sale, weight: 1}, {dataset: first, weight: 1}]");
    const auto forbidden = gym({"job", "submit", file});
    EXPECT_NE(forbidden.exit_code, 0);
    EXPECT_NE(forbidden.err.find("forbids commercial use"), std::string::npos) << forbidden.err;
    write(
        "use: non-commercial\ndata: [{dataset: not-for-sale, weight: 1}, {dataset: first, "
        "weight: 1}]");
    const auto permitted = gym({"job", "submit", file, "--json"});
    ASSERT_EQ(permitted.exit_code, 0) << permitted.err;
    EXPECT_EQ(parse_line(permitted.out).at("data_licence").as_string(), "CC-BY-NC-4.0 AND MIT");
    enter('d', {"--licence", "MIT", "--price", "1", "--as", "sold"});
    ::setenv("GYM_API_KEY", create_key(*api_db_, address_of(2), "other", 1).value().c_str(), 1);
    write("data: [{dataset: sold, weight: 1}, {root: \"" + second.root + "\", weight: 1}]");
    // Both are registered by now: the network mixes them, and the quote says what they cost.
    const auto offered = gym({"job", "quote", file, "--no-bench"});
    ASSERT_EQ(offered.exit_code, 0) << offered.err;
    EXPECT_NE(offered.out.find("50 % of it is"), std::string::npos) << offered.out;
    EXPECT_NE(offered.out.find("refused without --max-data-price 0.5"), std::string::npos)
        << offered.out;
    const auto in_json = parse_line(gym({"job", "quote", file, "--json", "--no-bench"}).out);
    EXPECT_EQ(in_json.at("data_parts").as_array().size(), 2U);
    const std::string mix(in_json.at("dataset_root").as_string());
    EXPECT_NE(pull(mix).exit_code, 0) << "who cannot read a part cannot read the mix";
    spill(place_ / "new.txt", std::string(2'000, 'n'));
    write("data: [{dataset: sold, weight: 1}, {dataset: new.txt, weight: 1}]");
    const auto refused = gym({"job", "quote", file});
    EXPECT_NE(refused.err.find("has a price"), std::string::npos) << refused.err;
    const auto unnamed = gym({"job", "submit", file});
    EXPECT_NE(unnamed.err.find("not registered itself: say under which licence"), std::string::npos)
        << unnamed.err;
}

TEST_F(PullTest, PartsOfAMixThatAreNotPublicDoNotStay) {
    enter('a', {"--licence", "MIT", "--as", "open"});
    enter('b', {"--licence", "MIT", "--visibility", "private", "--as", "hidden"});
    spill(place_ / "mine.txt", std::string(3'000, 'c'));
    const auto quote = [&](const std::string& dataset) {
        spill(place_ / "mix.yaml",
              "name: on a mix\nmodel: model.yaml\ndata: [{dataset: " + dataset +
                  ", weight: 1}, {dataset: mine.txt, weight: 1}]\nrounds: 3\nslots: 2\n"
                  "steps_per_round: 4\nprice_per_pflop: 2\nbudget: 40\n");
        const auto done = gym({"job", "quote", (place_ / "mix.yaml").string(), "--no-bench"});
        EXPECT_EQ(done.exit_code, 0) << done.err;
        return done.err;
    };
    const fs::path scratch = place_ / "scratch", mixes = place_ / ".gym" / "mixes";
    fs::create_directory(scratch);
    ::setenv("TMPDIR", scratch.c_str(), 1);
    const std::string told = quote("hidden");
    ::unsetenv("TMPDIR");
    EXPECT_NE(told.find("it is not public, so it lies in " + scratch.string()), std::string::npos)
        << told;
    EXPECT_TRUE(fs::is_empty(scratch));
    const auto kept = [&] {
        return std::distance(fs::directory_iterator(mixes), fs::directory_iterator());
    };
    EXPECT_EQ(kept(), 1) << "the tokens of the owner's text, neither the part nor the mix";
    EXPECT_EQ(fs::status(mixes).permissions(), fs::perms::owner_all);
    EXPECT_EQ(quote("open").find("not public"), std::string::npos);
    EXPECT_GT(kept(), 2) << "what everybody may read is used again";
}

TEST_F(PullTest, AFileOfAMixIsRegisteredUnderTheLicencesOfItsDocuments) {
    enter('a', {"--licence", "MIT", "--as", "first"});
    fs::create_directory(place_ / "jl");
    spill(place_ / "jl/a.jsonl", R"({"text": ")" + std::string(3'000, 'q') +
                                     R"(", "licence": "CC-BY-NC-4.0"})"
                                     "\n");
    succeed({"data", "build", (place_ / "jl").string(), "-o", (place_ / "docs.tokens").string(),
             "--steps", "none"});
    spill(place_ / "mix.yaml",
          "name: on a mix\nmodel: model.yaml\nuse: non-commercial\n"
          "data: [{dataset: first, weight: 1}, {dataset: docs.tokens, weight: 1}]\n"
          "rounds: 3\nslots: 2\nsteps_per_round: 4\nprice_per_pflop: 2\nbudget: 40\n");
    deposit(owner_, "100", "d1");
    const std::string file = (place_ / "mix.yaml").string();
    const auto loosened = gym({"job", "submit", file, "--licence", "MIT"});
    EXPECT_NE(loosened.exit_code, 0);
    EXPECT_NE(loosened.err.find("permits more than the documents' licences"), std::string::npos)
        << loosened.err;
    const auto submitted = gym({"job", "submit", file, "--json"});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err << submitted.out;
    EXPECT_EQ(parse_line(submitted.out).at("data_licence").as_string(), "CC-BY-NC-4.0 AND MIT");
}

}  // namespace
}  // namespace gym::api
