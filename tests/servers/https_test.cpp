// SPDX-License-Identifier: MIT
//
// Certificates are checked: a server with one that nobody signed is not spoken to, unless it is named.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/servers/stub_server.h"

namespace mrrope::test {
namespace {

namespace fs = std::filesystem;

class Https : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("openssl version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no openssl to make a certificate with";
    folder_ = fs::temp_directory_path() / ("mrrope-https-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    server_ = ::popen(("python3 " MRROPE_TESTS "/servers/https_stub.py " + folder_.string()).c_str(), "w");
    for (int i = 0; i < 1200 && !fs::exists(folder_ / "port"); ++i) std::this_thread::sleep_for(milliseconds(50));
    std::string port;
    std::ifstream(folder_ / "port") >> port;
    ASSERT_NE(port, "") << "the stub does not start";
    url_ = "https://127.0.0.1:" + port;
  }
  void TearDown() override {
    ::unsetenv("SSL_CERT_FILE");
    if (server_ != nullptr) ::pclose(server_);
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  fs::path folder_;
  std::FILE* server_ = nullptr;
  std::string url_;
};

TEST_F(Https, CertificateOfAStrangerIsRefused) {
  const Outcome outcome = ask({.urls = {url_}}, 1);
  ASSERT_FALSE(outcome.run);
  EXPECT_NE(outcome.run.error().message.find("certificate"), std::string::npos) << outcome.run.error().message;
}

TEST_F(Https, CertificateThatIsNamedIsAccepted) {
  ::unsetenv("CURL_CA_BUNDLE");  // which comes first
  ::setenv("SSL_CERT_FILE", (folder_ / "cert.pem").c_str(), 1);
  const Outcome outcome = ask({.urls = {url_}}, 20);
  ASSERT_TRUE(outcome.run) << to_string(outcome.run.error());
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(outcome.answers.at(i)->text, "encrypted");
}

}  // namespace
}  // namespace mrrope::test
