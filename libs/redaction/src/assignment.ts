import { isMarked } from "./mark.ts";
import type { Rule } from "./rule.ts";

const names = [
  "password",
  "passwd",
  "passphrase",
  "pwd",
  "secret",
  "token",
  "api[_-]?key",
  "access[_-]?key",
  "account[_-]?key",
  "auth[_-]?key",
  "private[_-]?key",
  "encryption[_-]?key",
  "signing[_-]?key",
  "credentials?",
].join("|");

/**
 * name, optional rest of the name, optional closing quote, separator, value: within escaped quotes,
 * within quotes, or bare. The parts are bounded, so each place where a name may begin costs a bounded
 * number of steps.
 */
const assignment = new RegExp(
  `(?<name>${names})(?<suffix>(?:[_-]?[A-Za-z0-9]{1,16}){0,3}?)(?<keyQuote>\\\\?["']?)` +
    `(?<separator>[ \\t]{0,8}(?::=|=>|[:=])[ \\t]{0,8})` +
    `(?:\\\\["'](?<escaped>[^"'\\\\\\r\\n]{1,1024})|(?<quote>["'\`])(?<quoted>(?:(?!\\k<quote>)[^\\\\\\r\\n]|\\\\.){1,1024})` +
    `|(?<bare>[^\\s"'\`,;&|<>)}\\]\\\\]{1,512}))`,
  "gi",
);
const flag = new RegExp(
  `(?<![A-Za-z0-9-])(--(?:[a-z]{1,16}-){0,2}(?:${names}))([ \\t]{1,4})([^\\s"'-][^\\s"']{3,512})`,
  "gi",
);

/** What a name may end in and still be the name of a secret: not `token_count`, not `secretName`. */
const secretSuffix = /^(?:[_-]?(?:access)?[_-]?key|[_-]?value|[_-]?hash|[_-]?text|[_-]?[0-9]{1,3})?$/i;
/** Tokens that only say where a list goes on. */
const positionToken = /(?:page|next|continuation|pagination|sync|cursor|resume|max|min|num|completion|prompt)[_-]?$/i;

/** Values given to names such as `password`, `api_key` or `secret`, in code, JSON, YAML, env and query form. */
export const assignmentRule: Rule = {
  kind: "secret",
  apply: (text, mask) =>
    maskAssignments(text, mask).replace(flag, (whole, option: string, space: string, value: string) =>
      isMarked(value) || !isMixed(value) ? whole : option + space + mask(value),
    ),
};

function maskAssignments(text: string, mask: (secret: string) => string): string {
  let out = "";
  let done = 0;
  assignment.lastIndex = 0;
  for (let match = assignment.exec(text); match !== null; match = assignment.exec(text)) {
    const { name = "", suffix = "", keyQuote = "", separator = "", escaped, quoted, bare } = match.groups ?? {};
    const value = escaped ?? quoted ?? bare ?? "";
    const end = match.index + match[0].length;
    const before = text.slice(Math.max(0, match.index - 14), match.index);
    const found = { name, before, value, isQuoted: bare === undefined, isJson: keyQuote !== "", separator };
    if (secretSuffix.test(suffix) && isSecretValue(found)) {
      out += text.slice(done, end - value.length) + mask(value);
      done = end;
    } else {
      // What was taken for a value may itself hold an assignment: go on right behind the name.
      assignment.lastIndex = match.index + name.length;
    }
  }
  return out + text.slice(done);
}

interface Assignment {
  readonly name: string;
  /** The characters before the name: the first part of a longer name. */
  readonly before: string;
  readonly value: string;
  readonly isQuoted: boolean;
  /** The name was quoted, as in JSON. */
  readonly isJson: boolean;
  readonly separator: string;
}

function isSecretValue(found: Assignment): boolean {
  const { value } = found;
  if (isMarked(value) || isPlaceholder(value) || mentions(value, found.name)) return false;
  if (/^token$/i.test(found.name) && positionToken.test(found.before)) return false;
  if (/^[0-9.]+$/.test(value)) return /^pass|^pwd/i.test(found.name) && value.length >= 6;
  if (found.isQuoted) return value.length >= (found.isJson ? 4 : 6) && (found.isJson || !/\s/.test(value));
  if (isExpression(value)) return false;
  // `NAME=value` without spaces is data; with a space or a colon it may as well be prose or code.
  const isTight = found.separator === "=";
  return isMixed(value) ? value.length >= 6 : isTight && value.length >= 8;
}

const placeholders =
  /^(?:true|false|null|none|nil|undefined|string|number|boolean|bytes?|text|integer|str|int|bool|any|object|required|optional|example|changeme|\*+|x+|\.+|-+|<.*|\$.*|%.*|\{.*|#.*|env:.*|vault:.*|file:.*|\/.*)$/i;

function isPlaceholder(value: string): boolean {
  return placeholders.test(value.replace(/[?.!:]+$/, ""));
}

/** `password: "Enter your password"` and `token = userToken` speak about the secret, they do not hold it. */
function mentions(value: string, name: string): boolean {
  return (
    value.length < 80 && value.toLowerCase().includes(name.toLowerCase().replace(/s$/, "")) && !/[0-9]/.test(value)
  );
}

const nested = new RegExp(`(?:${names})[\\w-]{0,40}[:=]`, "i");

/** Calls, member access, indexes, another assignment: code that fetches a secret, or the name of one. */
function isExpression(value: string): boolean {
  if (nested.test(value)) return true;
  return (
    /[([{]/.test(value) ||
    /^(?:new|await|this|self)\b/.test(value) ||
    /^[A-Za-z_$][\w$]*(?:(?:\?\.|\.|->|::)[A-Za-z_$][\w$]*)+;?$/.test(value)
  );
}

/** Letters together with digits or symbols: not a word of a language, and not a plain identifier. */
function isMixed(value: string): boolean {
  return /[A-Za-z]/.test(value) && (/[0-9]/.test(value) || /[!@#$%^&*+/=~]/.test(value));
}
