import { emailDomainOf, foldEmail, foldName } from '@commonplace/kit/words';

/** Returns the text that a substring search for a person's name or address looks in. */
export function searchText(name: string, email: string): string {
  return `${foldName(name)}\n${foldEmail(email)}`;
}

/** Returns whether an address belongs to one of the domains. An empty list matches every address. */
export function isOfDomains(email: string, domains: readonly string[]): boolean {
  return domains.length === 0 || domains.includes(emailDomainOf(email));
}
