// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <io.h>
#include <windows.h>
//
#include <shellapi.h>

#include <array>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "base/paths.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/host.h"
#include "cli/terminal.h"

namespace mrrope::cli {

namespace {

std::string utf8(const std::wstring& text) {
  const auto size = static_cast<int>(text.size());
  std::string out(text.size() * 3, '\0');  // which is enough
  const int length =
      ::WideCharToMultiByte(CP_UTF8, 0, text.data(), size, out.data(), static_cast<int>(out.size()), nullptr, nullptr);
  out.resize(static_cast<std::size_t>(length));
  return out;
}

std::wstring wide(const std::string& text) {
  const auto size = static_cast<int>(text.size());
  std::wstring out(text.size(), L'\0');
  out.resize(static_cast<std::size_t>(::MultiByteToWideChar(CP_UTF8, 0, text.data(), size, out.data(), size)));
  return out;
}

UINT code_page_before = 0;  // NOLINT: std::atexit passes nothing

void restore_code_page() {
  if (code_page_before != 0) ::SetConsoleOutputCP(code_page_before);
}

// The console outlives a program that is interrupted. Who calls on_interrupt() is asked first, and leaves by leave().
BOOL WINAPI restore_and_end(DWORD /*event*/) {
  restore_code_page();
  return FALSE;
}

// What `words` are read back as by the C library of the other program.
std::wstring command_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + base::windows_quoted(word);
  return wide(line);
}

// In the folders of PATH and nowhere else: CreateProcess alone would begin with the current folder, where a stranger's
// model lies.
std::filesystem::path found_in_path(const std::filesystem::path& name) {
  const std::string folders = environment_variable("PATH");
  for (const std::string_view folder : base::split(folders, ';')) {
    if (folder.empty()) continue;
    const std::filesystem::path place = base::to_path(folder) / name;
    if (place.is_absolute() && is_program(place)) return place;
  }
  return {};
}

// Ctrl-C reaches both; the one that measures decides.
BOOL WINAPI leave_it_to_the_other(DWORD event) {
  return event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT ? TRUE : FALSE;
}

// A process that ends with this one, however that ends: as long as the result is open.
HANDLE tie(HANDLE process) {
  const HANDLE job = ::CreateJobObjectW(nullptr, nullptr);
  if (job == nullptr) return nullptr;
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
  limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
  ::SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
  ::AssignProcessToJobObject(job, process);
  return job;
}

void (*asked)() = nullptr;  // NOLINT: the system passes nothing

BOOL WINAPI on_event(DWORD /*event*/) {
  asked();
  return TRUE;
}

}  // namespace

// And lines end as everywhere else, and a console shows what it is sent.
void hold_standard_streams() {
  for (const int stream : {0, 1, 2}) {
    if (::_get_osfhandle(stream) >= 0) ::_setmode(stream, _O_BINARY);
  }
  if (!is_terminal(stdout) && !is_terminal(stderr)) return;
  code_page_before = ::GetConsoleOutputCP();
  ::SetConsoleOutputCP(CP_UTF8);
  (void)std::atexit(restore_code_page);
  ::SetConsoleCtrlHandler(restore_and_end, TRUE);
  // A console is sent whole characters, not the bytes of one
  for (std::FILE* stream : {stdout, stderr}) {
    if (is_terminal(stream)) (void)std::setvbuf(stream, nullptr, _IOFBF, std::size_t{1} << 16U);
  }
  for (const DWORD number : {STD_OUTPUT_HANDLE, STD_ERROR_HANDLE}) {
    const HANDLE console = ::GetStdHandle(number);
    DWORD mode = 0;
    if (::GetConsoleMode(console, &mode) != 0) ::SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  }
}

std::vector<std::string> words_of(int argc, char** argv) {
  int count = 0;
  wchar_t** words = ::CommandLineToArgvW(::GetCommandLineW(), &count);
  if (words == nullptr) return {argv, argv + argc};
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back(utf8(words[i]));
  ::LocalFree(words);
  return out;
}

std::string environment_variable(const char* name) {
  const wchar_t* value = ::_wgetenv(wide(name).c_str());
  return value != nullptr ? utf8(value) : "";
}

void offer_environment_variable(const char* name, const std::string& value) {
  if (environment_variable(name).empty()) ::SetEnvironmentVariableW(wide(name).c_str(), wide(value).c_str());
}

bool is_terminal(std::FILE* stream) {
  DWORD mode = 0;  // _isatty takes NUL for a terminal, too
  const std::intptr_t handle = ::_get_osfhandle(::_fileno(stream));
  return ::GetConsoleMode(reinterpret_cast<HANDLE>(handle), &mode) != 0;  // NOLINT(performance-no-int-to-ptr)
}

std::size_t window_columns() {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  if (::GetConsoleScreenBufferInfo(::GetStdHandle(STD_OUTPUT_HANDLE), &info) == 0) return 0;
  return static_cast<std::size_t>(info.srWindow.Right - info.srWindow.Left + 1);
}

std::filesystem::path own_program() {
  std::wstring path(32768, L'\0');
  path.resize(::GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size())));
  return path;
}

std::string program_name(const std::string& name) { return name + ".exe"; }

std::string python_name() { return "python.exe"; }

bool is_program(const std::filesystem::path& path) {
  std::error_code unseen;
  return std::filesystem::is_regular_file(path, unseen);
}

std::optional<int> run_this_program(std::vector<std::string> words) {
  words.insert(words.begin(), "mrrope");
  (void)std::fflush(stdout);  // what was printed stands before what it prints
  bool missing = false;
  return become(own_program(), words, missing);
}

std::optional<int> become(const std::filesystem::path& program, const std::vector<std::string>& words, bool& missing) {
  const std::filesystem::path file = program.has_parent_path() ? program : found_in_path(program);
  missing = !is_program(file);
  if (missing) return std::nullopt;
  std::wstring line = command_line(words);
  STARTUPINFOW start{};
  start.cb = sizeof start;
  PROCESS_INFORMATION started{};
  ::SetConsoleCtrlHandler(leave_it_to_the_other, TRUE);
  DWORD status = 1;
  const bool runs = ::CreateProcessW(file.c_str(), line.data(), nullptr, nullptr, TRUE, CREATE_SUSPENDED, nullptr,
                                     nullptr, &start, &started) != 0;
  if (runs) {
    const HANDLE job = tie(started.hProcess);
    ::ResumeThread(started.hThread);
    ::WaitForSingleObject(started.hProcess, INFINITE);
    ::GetExitCodeProcess(started.hProcess, &status);
    for (const HANDLE handle : {started.hThread, started.hProcess, job}) {
      if (handle != nullptr) ::CloseHandle(handle);
    }
  }
  ::SetConsoleCtrlHandler(leave_it_to_the_other, FALSE);
  return runs ? std::optional(static_cast<int>(status)) : std::nullopt;
}

void on_interrupt(void (*handler)()) {
  asked = handler;
  ::SetConsoleCtrlHandler(on_event, TRUE);
}

void leave(int status) {
  restore_code_page();
  ::ExitProcess(static_cast<UINT>(status));
}

std::string machine_name() {
  std::array<wchar_t, 256> name{};
  DWORD size = sizeof name;
  const LSTATUS found = ::RegGetValueW(HKEY_LOCAL_MACHINE, LR"(HARDWARE\DESCRIPTION\System\CentralProcessor\0)",
                                       L"ProcessorNameString", RRF_RT_REG_SZ, nullptr, name.data(), &size);
  const std::string processors = fmt::format("{} processors", std::thread::hardware_concurrency());
  return found == ERROR_SUCCESS ? fmt::format("{}, {}", utf8(name.data()), processors) : processors;
}

}  // namespace mrrope::cli
