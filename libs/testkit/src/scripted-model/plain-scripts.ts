import { lastUserText, type Script, type ScriptedCall, type ScriptedTurn } from "./script.ts";

/** Repeats the last words of the user. */
export const echoScript: Script = (messages) => ({ text: `You said: ${lastUserText(messages)}` });

/** Echoes after `delayMs`, with `chunkDelayMs` between the chunks: for cancels in the middle. */
export function slowScript(delayMs: number, chunkDelayMs = 0): Script {
  return (messages) => ({ text: `You said: ${lastUserText(messages)}`, delayMs, chunkDelayMs });
}

/** Refuses every request with this status. */
export function failingScript(status: number, errorMessage = "The scripted model was told to fail."): Script {
  return () => ({ status, errorMessage });
}

/** Makes these calls at once, and answers with their results, in order, once they are there. */
export function callsScript(calls: readonly ScriptedCall[]): Script {
  return (messages) => {
    const asked = messages.findLastIndex((message) => message.role === "user");
    const results = messages.slice(asked + 1).filter((message) => message.role === "tool");
    if (results.length === 0) return { toolCalls: calls };
    return { text: results.map((message, index) => `${index + 1}. ${String(message.content)}`).join("\n") };
  };
}

/** Gives these turns one after the other, whatever it is asked; the last one repeats. */
export function turnsScript(turns: readonly ScriptedTurn[]): Script {
  let next = 0;
  return () => turns[Math.min(next++, turns.length - 1)] ?? {};
}
