import type { Command } from "commander";
import { requestPurge, showPurge } from "./commands/privacy.ts";
import { usageFailure } from "./failure.ts";
import type { WithSession } from "./program.ts";
import type { CommonOptions } from "./session.ts";

/** Adds the commands about the removal of data. */
export function addPrivacy(program: Command, withSession: WithSession): void {
  const privacy = program.command("privacy").description("remove what is kept about somebody, from all services");
  privacy
    .command("purge")
    .description("remove a conversation, what a user submitted, or everything of the tenant; what runs is cancelled")
    .option("--conversation <id>", "of this conversation")
    .option("--user <name>", "of the tasks of this user")
    .option("--whole-tenant", "of the whole tenant; needs --yes", false)
    .option("--yes", "the whole tenant is meant", false)
    .option("--request-id <text>", "the same again is the same removal", "")
    .option("--wait", "until every service has confirmed", false)
    .action((_, command: Command) => {
      const flags: CommonOptions & Flags = command.optsWithGlobals();
      return withSession(flags, async (s) => {
        const { requestId, wait } = flags;
        return await requestPurge(s, { requestId, wait, subject: subjectOf(flags) });
      });
    });
  privacy
    .command("show <purge>")
    .description("how far a removal is, service by service")
    .option("--wait", "until every service has confirmed", false)
    .action((purge: string, _, command: Command) => {
      const flags: CommonOptions & { readonly wait: boolean } = command.optsWithGlobals();
      return withSession(flags, (s) => showPurge(s, purge, flags.wait));
    });
}

interface Flags {
  readonly conversation?: string;
  readonly user?: string;
  readonly wholeTenant: boolean;
  readonly yes: boolean;
  readonly requestId: string;
  readonly wait: boolean;
}

function subjectOf({ conversation, user, wholeTenant, yes }: Flags) {
  const named = [
    ...(conversation === undefined ? [] : [{ case: "conversationId", value: conversation } as const]),
    ...(user === undefined ? [] : [{ case: "user", value: user } as const]),
    ...(wholeTenant ? [{ case: "wholeTenant", value: true } as const] : []),
  ];
  const [only, ...others] = named;
  if (only === undefined || others.length > 0) {
    throw usageFailure("A removal is of one thing.", "Give one of --conversation ID, --user NAME and --whole-tenant.");
  }
  if (wholeTenant && !yes) {
    throw usageFailure(
      "Everything of this tenant would go, and nothing brings it back.",
      "Add --yes if that is meant.",
    );
  }
  return only;
}
