#pragma once

#include <memory>

namespace kvcast {

// A piece of codec work that needs nothing but what it was made with: some objects to be decoded
// into a block's pages, or to be encoded from them. A few milliseconds at most, since whoever gives
// it up waits for it while it runs.
class Job {
 public:
  virtual ~Job() = default;
  // Once, on whatever thread. What comes of it stays in the job.
  virtual void Run() = 0;
};

// The jobs of one who has them done. Belongs to one thread, whatever threads run the jobs; nobody
// is called back.
class JobLine {
 public:
  // Withdraws them.
  virtual ~JobLine() = default;
  virtual void Submit(std::unique_ptr<Job> job) = 0;
  // One that has been run, in whatever order they end; null if there is none now.
  virtual std::unique_ptr<Job> TakeDone() = 0;
  // When this returns no job of the line runs, none will, and none is given out any more: what they
  // refer to may be freed. Waits for those that are being run, and for nothing else.
  virtual void Withdraw() = 0;
};

// Where jobs are run: on threads of the machine's, or as a test likes it. Outlives its lines.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual std::unique_ptr<JobLine> Open() = 0;
};

}  // namespace kvcast
