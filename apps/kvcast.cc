#include "kvcast/host/command_line.h"

int main(int argc, char** argv) { return kvcast::RunCommandLine(argc, argv); }
