#include "gym/data/document_licences.hpp"

#include <gtest/gtest.h>

#include "gym/commit/sha256.hpp"
#include "gym/data/manifest.hpp"
#include "must.hpp"
#include "temporary_folder.hpp"

namespace gym::data {
namespace {

using licence::Use;
using testing::must;

const Digest kRoot = commit::sha256(as_bytes("tokens"));

class DocumentLicences : public ::testing::Test {
  protected:
    void write(const std::vector<std::string>& licences) {
        auto writer = must(ManifestWriter::create(manifest_path(file_)));
        must(writer.append(to_line(ManifestHead{"bytes", 256, {10, 10}, "{}"})));
        std::uint64_t at = 0;
        for (const std::string& licence : licences) {
            ManifestDocument document;
            document.first = at++;
            document.tokens = 1;
            document.source = "a.jsonl:1";
            document.licence = licence;
            must(writer.append(to_line(document)));
        }
        must(writer.append(to_line(ManifestEnd{kRoot, at, licences.size(), {}})));
        must(writer.sync());
    }
    [[nodiscard]] LicenceCounts counts() const { return must(licences_beside(file_, kRoot)); }

    testing::TemporaryFolder place_;
    const std::filesystem::path file_ = place_ / "out";
};

TEST_F(DocumentLicences, TheManifestsDocumentsAreCountedByCanonicalLicence) {
    write({"mit", "MIT", "NOASSERTION", "CC-BY-NC-4.0", "ask me"});
    EXPECT_EQ(counts(), (LicenceCounts{{"", 1}, {"CC-BY-NC-4.0", 1}, {"MIT", 2}, {"ask me", 1}}));
    EXPECT_EQ(licences_text(counts()), "1 CC-BY-NC-4.0, 2 MIT, 1 ask me, 1 without a licence");
}

TEST_F(DocumentLicences, WithoutAManifestNothingIsCountedAndAnotherFilesManifestIsRefused) {
    EXPECT_TRUE(counts().empty());
    write({"MIT"});
    const auto other = licences_beside(file_, commit::sha256(as_bytes("other tokens")));
    ASSERT_FALSE(other.ok());
    EXPECT_EQ(other.error().code, ErrorCode::kMismatch);
}

TEST_F(DocumentLicences, TheWholeMayNotPermitWhatADocumentForbids) {
    write({"CC-BY-NC-4.0", "CC-BY-NC-4.0", "MIT", ""});
    const auto refused = licence_of_whole("CC-BY-4.0", counts());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().message.find("2 documents are under CC-BY-NC-4.0 (CC-BY-NC-4.0 "
                                           "forbids commercial use)"),
              std::string::npos)
        << refused.error().message;
    for (const char* permitted :
         {"CC-BY-NC-4.0", "CC-BY-NC-SA-4.0 AND MIT", "CC-BY-ND-4.0", "LicenseRef-private"})
        EXPECT_EQ(must(licence_of_whole(permitted, counts())), permitted);
    EXPECT_FALSE(licence_of_whole("CC-BY-NC-4.0 OR MIT", counts()).ok());
}

TEST_F(DocumentLicences, TheWholeMayNotDropADutyOfADocument) {
    const LicenceCounts some{{"CC-BY-4.0", 2}, {"CC0-1.0", 1}};
    const auto refused = licence_of_whole("CC0-1.0", some);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().message.find(
                  "2 documents are under CC-BY-4.0 (CC-BY-4.0 asks for attribution)"),
              std::string::npos)
        << refused.error().message;
    EXPECT_EQ(must(licence_of_whole("CC-BY-SA-4.0", some)), "CC-BY-SA-4.0");
}

TEST_F(DocumentLicences, WithoutALicenceTheWholeHasThoseOfAllDocuments) {
    EXPECT_EQ(must(licence_of_whole("", {{"", 4}, {"MIT OR ISC", 1}, {"CC-BY-NC-4.0", 3}})),
              "CC-BY-NC-4.0 AND (MIT OR ISC)");
    EXPECT_EQ(must(licence_of_whole("", {{"MIT OR ISC", 1}})), "MIT OR ISC");
    EXPECT_EQ(licence_of_whole("", {}).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(licence_of_whole("", {{"", 4}}).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(DocumentLicences, ALicenceThatCannotBeReadGrantsNothing) {
    const LicenceCounts unknown{{"ask me", 2}};
    EXPECT_EQ(licence_of_whole("MIT", unknown).error().code, ErrorCode::kConflict);
    EXPECT_EQ(licence_of_whole("", unknown).error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(licence_of_whole("private", unknown).ok());
}

TEST_F(DocumentLicences, AJobIsBoundByItsDocumentsUnlessTheyAreReservedToItsOwner) {
    const LicenceCounts some{{"", 1}, {"CC-BY-NC-4.0", 3}, {"LicenseRef-private", 2}, {"MIT", 1}};
    EXPECT_EQ(forbidden_by_documents(some, Use::kCommercial),
              "3 documents are under CC-BY-NC-4.0 (CC-BY-NC-4.0 forbids commercial use)");
    EXPECT_EQ(forbidden_by_documents(some, Use::kNonCommercial), "");
    EXPECT_NE(forbidden_by_documents({{"CC-BY-ND-4.0", 1}}, Use::kNonCommercial), "");
}

}  // namespace
}  // namespace gym::data
