import { setImmediate as nextTurn } from "node:timers/promises";
import { headOf, throwIfAborted } from "@drover/kernel";
import type { Message } from "@drover/model";
import { countMessage, countTokens } from "@drover/model/tokens";
import type { TokenCounter } from "../application/ports.ts";
import type { MessageDraft } from "../domain/message.ts";

/** Characters counted before other work gets its turn; about 50 ms. */
const pieceCharacters = 32_768;

/** Counts with the tokenizer of the model library. */
export function createTokenCounter(): TokenCounter {
  return {
    async message(draft, signal) {
      // A long text is counted in pieces beside its frame; each cut adds at most a token or two.
      if (draft.text.length <= pieceCharacters) return countMessage(modelMessage(draft));
      let total = countMessage(modelMessage({ ...draft, text: "" }));
      for (let rest = draft.text; rest !== ""; ) {
        await nextTurn();
        throwIfAborted(signal);
        const piece = headOf(rest, pieceCharacters);
        total += countTokens(piece);
        rest = rest.slice(piece.length);
      }
      return total;
    },
    toolText: (text) => countMessage({ role: "tool", callId: "", text }),
  };
}

function modelMessage(draft: MessageDraft): Message {
  switch (draft.role) {
    case "system":
    case "user":
      return { role: draft.role, text: draft.text };
    case "assistant":
      return { role: "assistant", text: draft.text, toolCalls: draft.toolCalls };
    case "tool":
      return { role: "tool", callId: draft.toolCallId, text: draft.text };
  }
}
