import { foldName } from '@commonplace/kit/words';

/** Returns an e-mail address folded for comparison. */
export function foldEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** Returns the text that a substring search for a person's name or address looks in. */
export function searchText(name: string, email: string): string {
  return `${foldName(name)}\n${foldEmail(email)}`;
}

/** Returns the folded part of an address after the `@`. */
function domainOf(email: string): string {
  return foldEmail(email).slice(email.trim().lastIndexOf('@') + 1);
}

/** Returns whether an address belongs to one of the domains. An empty list matches every address. */
export function isOfDomains(email: string, domains: readonly string[]): boolean {
  return domains.length === 0 || domains.includes(domainOf(email));
}
