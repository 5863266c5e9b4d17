import { decodePageToken, encodePageToken, pageSize } from "@drover/kernel";
import type { LoggedMessage } from "../domain/message.ts";
import { requireToken } from "../domain/spill-pointer.ts";
import type { Call } from "./call.ts";
import type { ConversationLog } from "./ports.ts";

/** One page of a conversation. */
interface MessagePage {
  readonly messages: readonly LoggedMessage[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** Messages by sequence; see the rpc of the same name for the contract. */
export type ListMessages = (
  call: Call,
  request: { readonly conversationId: string; readonly pageSize: number; readonly pageToken: string },
) => Promise<MessagePage>;

/** Makes {@link ListMessages}. */
export function createListMessages(log: ConversationLog): ListMessages {
  return async ({ owner, signal }, request) => {
    const { conversationId } = request;
    requireToken("conversation_id", conversationId);
    const size = pageSize(request.pageSize);
    const scope = `messages:${conversationId}`;
    const [after = "0"] = decodePageToken(scope, request.pageToken) ?? [];
    const found = await log.list(owner, conversationId, Number(after), size + 1, signal);
    const messages = found.slice(0, size);
    const last = messages.at(-1);
    const more = found.length > size && last !== undefined;
    return { messages, nextPageToken: more ? encodePageToken(scope, [String(last.sequence)]) : "" };
  };
}
