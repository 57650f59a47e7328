#include "gym/data/manifest.hpp"

#include <gtest/gtest.h>

#include "gym/blob/dataset_writer.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "must.hpp"
#include "temporary_folder.hpp"

namespace gym::data {
namespace {

using testing::must;

ManifestHead some_head() {
    return {.tokenizer = "bytes", .vocabulary = 256, .separator = {10, 10}, .options = "{}"};
}
ManifestDocument some_document(std::uint64_t first, std::uint64_t tokens) {
    return {.first = first,
            .tokens = tokens,
            .text_sha256 = commit::sha256(as_bytes("text")),
            .tokens_sha256 = commit::sha256(as_bytes("tokens")),
            .source = "a.jsonl:" + std::to_string(first),
            .id = "7",
            .url = "https://x.org/\"q\"",
            .licence = "MIT",
            .language = "en"};
}

class ManifestTest : public ::testing::Test {
  protected:
    Digest write(const std::vector<std::string>& lines) {
        auto writer = must(ManifestWriter::create(path_));
        for (const std::string& line : lines)
            must(writer.append(line));
        must(writer.sync());
        return writer.root();
    }
    Result<Manifest> read() {
        documents_.clear();
        return read_manifest(path_, [&](const ManifestDocument& document) -> Status {
            documents_.push_back(document);
            return {};
        });
    }
    testing::TemporaryFolder place_;
    const std::filesystem::path path_ = place_ / "manifest";
    std::vector<ManifestDocument> documents_;
};

TEST_F(ManifestTest, WhatIsWrittenIsRead) {
    const ManifestEnd end{.dataset_root = commit::sha256(as_bytes("d")),
                          .tokens = 12,
                          .documents = 2,
                          .removed = {{"mask", 3}}};
    const Digest root = write({to_line(some_head()), to_line(some_document(0, 5)),
                               to_line(some_document(7, 5)), to_line(end)});
    const Manifest manifest = must(read());
    EXPECT_EQ(manifest.root, root);
    EXPECT_EQ(manifest.head, some_head());
    EXPECT_EQ(manifest.end, end);
    EXPECT_EQ(documents_,
              (std::vector<ManifestDocument>{some_document(0, 5), some_document(7, 5)}));
}

TEST_F(ManifestTest, ConsentStandsInALineOnlyWhereItWasGiven) {
    ManifestDocument document = some_document(0, 12);
    const std::string without = to_line(document);
    EXPECT_EQ(without.find("consent"), std::string::npos) << "older manifests keep their roots";
    document.consented = true;
    const std::string line = to_line(document);
    EXPECT_NE(line.find(R"("consent":true)"), std::string::npos) << line;
    const std::string end = to_line(ManifestEnd{.tokens = 12, .documents = 1});
    write({to_line(some_head()), line, end});
    (void)must(read());
    EXPECT_TRUE(documents_.at(0).consented);
    std::string refused = line;
    refused.replace(refused.find(":true"), 5, ":false");
    write({to_line(some_head()), refused, end});
    const auto read_again = read();
    ASSERT_FALSE(read_again.ok()) << "such a document is left out, not written";
    EXPECT_NE(read_again.error().message.find("consent"), std::string::npos);
}

TEST_F(ManifestTest, TheRootCoversEveryLineAndItsPlace) {
    const std::vector<std::string> lines{"a", "b", "c"};
    const Digest root = write(lines);
    EXPECT_NE(write({"b", "a", "c"}), root);
    EXPECT_NE(write({"a", "b"}), root);
    EXPECT_NE(write({"a", "b", "d"}), root);
    EXPECT_NE(write({"a", "bc"}), write({"ab", "c"}));
}

TEST_F(ManifestTest, AResumedManifestHasTheSameRoot) {
    const Digest root = write({"one", "two", "three"});
    auto writer = must(ManifestWriter::resume(path_, 8));  // "one", "two"
    must(writer.append("three"));
    EXPECT_EQ(writer.root(), root);
    must(writer.sync());
    EXPECT_EQ(must(read_file(path_)).size(), 14U);
    EXPECT_EQ(ManifestWriter::resume(path_, 9).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(ManifestWriter::resume(path_, 100).error().code, ErrorCode::kMalformed);
}

TEST_F(ManifestTest, AManifestThatIsNotWholeIsRefused) {
    const std::string head = to_line(some_head()), document = to_line(some_document(0, 5));
    const std::string end = to_line(ManifestEnd{.tokens = 5, .documents = 1});
    write({head, document, end});
    EXPECT_TRUE(read().ok());
    const auto expect_error = [&](const std::vector<std::string>& lines, ErrorCode code,
                                  const std::string& cause) {
        write(lines);
        const auto refused = read();
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, code);
        EXPECT_NE(refused.error().message.find(cause), std::string::npos)
            << refused.error().message;
    };
    expect_error({}, ErrorCode::kMalformed, "is empty");
    expect_error({head, document}, ErrorCode::kMalformed, "cut off");
    expect_error({head, end}, ErrorCode::kMismatch, "0 documents");
    expect_error({document, end}, ErrorCode::kMalformed, ":1: format");
    expect_error({head, document, document, end}, ErrorCode::kMalformed, ":3: documents overlap");
    expect_error({head, document, end, document}, ErrorCode::kMalformed, ":4: a line follows");
    expect_error({head, "{\"first\":-1}", end}, ErrorCode::kMalformed, ":2: first");
    expect_error({head, "no JSON", end}, ErrorCode::kMalformed, ":2:");
}

}  // namespace
}  // namespace gym::data
