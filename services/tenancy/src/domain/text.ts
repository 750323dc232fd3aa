/** Folded for comparing names: compatibility forms, width and case do not count. */
export function foldName(name: string): string {
  return name.normalize('NFKC').toLowerCase();
}

/** Folded for comparing addresses of e-mail. */
export function foldEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** What a search for a part of a person's name or address looks in. */
export function searchText(name: string, email: string): string {
  return `${foldName(name)}\n${foldEmail(email)}`;
}

/** The part behind the `@`, folded. */
export function domainOf(email: string): string {
  return foldEmail(email).slice(email.trim().lastIndexOf('@') + 1);
}

/** Whether an address is of one of the domains; none named means any. */
export function isOfDomains(email: string, domains: readonly string[]): boolean {
  return domains.length === 0 || domains.includes(domainOf(email));
}
