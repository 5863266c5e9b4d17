import { type FieldViolation, invalidFields } from "@drover/kernel";
import { attr, type Tracer } from "@drover/tracing";
import { assertAcceptable } from "../domain/acceptable.ts";
import { usableTokens } from "../domain/budget.ts";
import { buildContext, type Context } from "../domain/context.ts";
import type { MessageDraft } from "../domain/message.ts";
import { requireToken } from "../domain/spill-pointer.ts";
import type { AppendMessages } from "./append-messages.ts";
import { type Call, inSpan } from "./call.ts";
import type { ConversationLog, TokenCounter } from "./ports.ts";

/** The numbers that a request may leave out. */
export interface ContextDefaults {
  readonly windowTokens: number;
  readonly reservedOutputTokens: number;
  readonly safetyMarginTokens: number;
  readonly previewCharacters: number;
}

/** What a context is wanted for; a 0 means the default. */
interface ContextRequest {
  readonly conversationId: string;
  readonly append: readonly MessageDraft[];
  readonly windowTokens: number;
  readonly reservedOutputTokens: number;
  readonly fixedTokens: number;
}

/** A context with the budget that it was built for. */
export interface BuiltContext extends Context {
  readonly windowTokens: number;
  readonly usableTokens: number;
  readonly fixedTokens: number;
  readonly throughSequence: number;
}

/** Appends, then builds; see the rpc of the same name for the contract. */
export type BuildContext = (call: Call, request: ContextRequest) => Promise<BuiltContext>;

/** Windows beyond this are not known; a bigger number is a mistake of the unit. */
const maxWindowTokens = 100_000_000;

interface Parts {
  readonly append: AppendMessages;
  readonly log: ConversationLog;
  readonly counter: TokenCounter;
  readonly tracer: Tracer;
  readonly defaults: ContextDefaults;
}

/** Makes {@link BuildContext}. */
export function createBuildContext(parts: Parts): BuildContext {
  return async (call, request) => {
    requireToken("conversation_id", request.conversationId);
    checkNumbers(request);
    const attributes = { [attr.conversationId]: request.conversationId };
    return await inSpan(parts.tracer, call, { name: "build context", kind: "memory", attributes }, async (span) => {
      if (request.append.length > 0) await parts.append(call, request.conversationId, request.append, "append");
      const built = await build(parts, call, request);
      span?.set({
        [attr.contextBudget]: built.usableTokens,
        [attr.contextFixedTokens]: built.fixedTokens,
        [attr.contextHistoryTokens]: built.historyTokens,
        [attr.contextTokens]: built.fixedTokens + built.historyTokens,
        [attr.contextMessages]: built.messagesInContext,
      });
      return built;
    });
  };
}

async function build(parts: Parts, call: Call, request: ContextRequest): Promise<BuiltContext> {
  const { defaults } = parts;
  const windowTokens = request.windowTokens || defaults.windowTokens;
  const usable = usableTokens({
    windowTokens,
    reservedOutputTokens: request.reservedOutputTokens || defaults.reservedOutputTokens,
    safetyMarginTokens: defaults.safetyMarginTokens,
  });
  const budget = { windowTokens, usableTokens: usable, fixedTokens: request.fixedTokens };
  const recent = await parts.log.recent(call.owner, request.conversationId, usable, call.signal);
  const source = { conversationId: request.conversationId, ...recent };
  const limits = { ...budget, previewCharacters: defaults.previewCharacters };
  const context = buildContext(source, limits, parts.counter.toolText);
  assertAcceptable(context.messages);
  return { ...context, ...budget, throughSequence: recent.throughSequence };
}

function checkNumbers(request: ContextRequest): void {
  const numbers = {
    window_tokens: request.windowTokens,
    reserved_output_tokens: request.reservedOutputTokens,
    fixed_tokens: request.fixedTokens,
  };
  const faults: FieldViolation[] = Object.entries(numbers)
    .filter(([, value]) => value < 0 || value > maxWindowTokens)
    .map(([field, value]) => ({ field, found: String(value), allowed: `0 to ${maxWindowTokens}` }));
  if (faults.length > 0) throw invalidFields(faults);
}
