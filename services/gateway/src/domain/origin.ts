/**
 * Whether a browser's write may come from `origin`: it must be the host that was asked, under http or
 * https, or one of `allowed` (where a proxy changes the host). No origin and "null" are refused.
 */
export function isOwnOrigin(
  origin: string | undefined,
  host: string | undefined,
  allowed: readonly string[] = [],
): boolean {
  if (origin === undefined || origin === "null") return false;
  if (allowed.includes(origin)) return true;
  return host !== undefined && host !== "" && (origin === `http://${host}` || origin === `https://${host}`);
}
