/** What the process's exit code says; the table of README.md. */
export const exitCodes = Object.freeze({
  ok: 0,
  /** The task failed or was cancelled, the program did not end by itself, something was refused or not found. */
  failed: 1,
  /** The command line or a field of the request is wrong. */
  usage: 2,
  /** Nobody answers, or the service that is needed is away. */
  unavailable: 3,
  /** No key, a key that is not accepted, or one without the scope. */
  auth: 4,
  /** Ctrl-C. */
  interrupted: 130,
  /** The reader of standard output went away, as a shell reports SIGPIPE. */
  brokenPipe: 141,
});
