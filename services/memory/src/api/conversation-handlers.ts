import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { TaskWork } from "@drover/bus";
import type { BuildContextResponseSchema, ConversationService } from "@drover/proto/memory/v1/conversation_service";
import type { AppendMessages } from "../application/append-messages.ts";
import type { BuildContext, BuiltContext } from "../application/build-context.ts";
import type { ListMessages } from "../application/list-messages.ts";
import type { PutSpill } from "../application/put-spill.ts";
import type { ReadSpill } from "../application/read-spill.ts";
import { callOf } from "./call-of.ts";
import { draftsOf, protoMessage } from "./message-mapping.ts";
import { openSpillStream } from "./spill-stream.ts";

/** The use cases behind the service. */
export interface ConversationUseCases {
  readonly append: AppendMessages;
  readonly list: ListMessages;
  readonly build: BuildContext;
  readonly putSpill: PutSpill;
  readonly readSpill: ReadSpill;
}

/**
 * The handlers of `drover.memory.v1.ConversationService`. A task's cancel stops the making of its contexts; what is
 * appended and stored is the record of the task and stays wanted.
 */
export function conversationHandlers(
  use: ConversationUseCases,
  tasks: TaskWork,
): ServiceImpl<typeof ConversationService> {
  return {
    async appendMessages(request, context) {
      const drafts = draftsOf(request.messages, "messages");
      const messages = await use.append(callOf(context), request.conversationId, drafts);
      return { messages: messages.map(protoMessage) };
    },
    async listMessages(request, context) {
      const page = await use.list(callOf(context), request);
      return { messages: page.messages.map(protoMessage), nextPageToken: page.nextPageToken };
    },
    async buildContext(request, context) {
      const call = callOf(context);
      const wanted = {
        conversationId: request.conversationId,
        append: draftsOf(request.append, "append"),
        windowTokens: Number(request.windowTokens),
        reservedOutputTokens: Number(request.reservedOutputTokens),
        fixedTokens: Number(request.fixedTokens),
      };
      const built = await tasks.during({ ...call.owner, taskId: call.taskId }, call.signal, (signal) =>
        use.build({ ...call, signal }, wanted),
      );
      return contextResponse(built);
    },
    async putSpill(requests, context) {
      const { header, chunks } = await openSpillStream(requests);
      const placed = await use.putSpill(callOf(context), header, chunks);
      return { ...placed, sizeBytes: BigInt(placed.sizeBytes), characters: BigInt(placed.characters) };
    },
    async readSpill(request, context) {
      const view = await use.readSpill(callOf(context), {
        conversationId: request.conversationId,
        pointer: request.pointer,
        offset: Number(request.offset),
        length: request.length,
      });
      return {
        text: view.text,
        offset: BigInt(view.offset),
        nextOffset: BigInt(view.nextOffset),
        totalCharacters: BigInt(view.totalCharacters),
      };
    },
  };
}

function contextResponse(built: BuiltContext): MessageInitShape<typeof BuildContextResponseSchema> {
  return {
    messages: built.messages.map(protoMessage),
    budget: {
      windowTokens: BigInt(built.windowTokens),
      usableTokens: BigInt(built.usableTokens),
      fixedTokens: BigInt(built.fixedTokens),
      historyTokens: BigInt(built.historyTokens),
      messagesInContext: built.messagesInContext,
      messagesLeftOut: built.messagesLeftOut,
      messagesSpilled: built.messagesSpilled,
    },
    throughSequence: BigInt(built.throughSequence),
  };
}
