import { createClient, type Transport } from "@connectrpc/connect";
import { ConversationService } from "@drover/proto/memory/v1/conversation_service";
import type { Tool } from "../../application/tool-ports.ts";
import { actingFor } from "../acting-for.ts";

/** Characters that one call returns; with its first line the result stays below the view cap of 8,000. */
const mostCharacters = 7_500;

/** read_spill: a range of a long result that was shown in part only. */
export function readSpillTool(transport: Transport): Tool {
  const client = createClient(ConversationService, transport);
  return {
    spec: {
      name: "read_spill",
      description: `Reads a range of a long tool result by its pointer (spill://...). Offsets and lengths are in characters; at most ${mostCharacters} at once. A negative offset counts from the end.`,
      parameters: {
        type: "object",
        properties: {
          pointer: { type: "string", minLength: 1, description: "The pointer, exactly as it was shown." },
          offset: { type: "integer", description: "First character; default 0." },
          length: { type: "integer", minimum: 1, maximum: mostCharacters, description: "Characters to read." },
        },
        required: ["pointer"],
        additionalProperties: false,
      },
    },
    timeoutMs: 30_000,
    replay: "safe",
    async execute(args, context, signal) {
      const request = {
        conversationId: context.conversationId,
        pointer: String(args.pointer),
        offset: BigInt(typeof args.offset === "number" ? args.offset : 0),
        length: typeof args.length === "number" ? args.length : mostCharacters,
      };
      const range = await client.readSpill(request, actingFor(context, ["memory:read"], signal));
      const end = Number(range.offset) + range.text.length;
      const more =
        end < Number(range.totalCharacters) ? `; the next range begins at ${range.nextOffset}` : "; this is the end";
      return {
        ok: true,
        errorCode: "",
        summary: `characters ${range.offset} to ${end} of ${range.totalCharacters}${more}`,
        text: range.text,
        artifacts: [],
        retryable: false,
      };
    },
  };
}
