import { isMarked } from "./mark.ts";
import type { Rule } from "./rule.ts";

const withPassword =
  /(?<![A-Za-z0-9])([A-Za-z][A-Za-z0-9+.-]{1,20}:\/\/[^\s:@/'"`<>[]{0,256}:)([^\s@/'"`<>]{1,256})(?=@[^\s@])/g;
const tokenOnly = /(?<![A-Za-z0-9])([A-Za-z][A-Za-z0-9+.-]{1,20}:\/\/)([A-Za-z0-9_-]{20,256})(?=@[A-Za-z0-9])/g;

/** The password in `scheme://user:password@host` (connection strings too), or a token in the user's place. */
export const urlCredentialsRule: Rule = {
  kind: "url-credentials",
  apply(text, mask) {
    const passwords = text.replace(withPassword, (whole, before: string, password: string) =>
      isMarked(password) || /^[${%]/.test(password) ? whole : before + mask(password),
    );
    return passwords.replace(tokenOnly, (whole, scheme: string, token: string) =>
      /[0-9]/.test(token) ? scheme + mask(token) : whole,
    );
  },
};
