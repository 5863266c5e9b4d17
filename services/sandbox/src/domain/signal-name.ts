/** Signals of Linux by number (x86-64 and arm64), see signal(7). */
const names = (
  "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG " +
  "XCPU XFSZ VTALRM PROF WINCH IO PWR SYS"
).split(" ");

/** `SIGSEGV` for 11; a real-time or unknown signal is `SIG<number>`. */
export function signalName(number: number): string {
  return `SIG${names[number - 1] ?? number}`;
}
