import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { strFromU8, unzipSync } from 'fflate';
import { testData } from './system.js';

/** A company's handbook: pages by path (`team/ceo/index.md`), and their folders with parents first. */
export interface Handbook {
  readonly pages: ReadonlyMap<string, string>;
  readonly folders: readonly string[];
}

const PREFIX = 'content/';

/** Reads the Markdown pages of `handbook.zip`; undefined if there is no test data. */
export function readHandbook(): Handbook | undefined {
  const file = join(testData() ?? '', 'handbook.zip');
  if (!existsSync(file)) return undefined;
  const entries = unzipSync(readFileSync(file), { filter: ({ name }) => name.endsWith('.md') });
  const pages = new Map(
    Object.entries(entries).map(([name, bytes]) => [name.slice(PREFIX.length), strFromU8(bytes)] as const),
  );
  const folders = new Set([...pages.keys()].flatMap(foldersOf));
  return { pages, folders: [...folders].sort((a, b) => depthOf(a) - depthOf(b)) };
}

/** Returns the folders above a file: `a/b/c.md` → `a`, `a/b`. */
function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, i) => parts.slice(0, i + 1).join('/'));
}

/** Returns the number of folders above a path; 0 at the top. */
export function depthOf(path: string): number {
  return path.split('/').length - 1;
}

/** Returns the folder that contains a page or folder; empty at the top. */
export function folderOf(path: string): string {
  return path.split('/').slice(0, -1).join('/');
}

/** Returns the name of a page or folder in the tree. */
export function nameOf(path: string): string {
  return (path.split('/').at(-1) ?? '').replace(/\.md$/, '');
}

/** Phrases that occur on only one page, with the path of that page. */
export const PHRASES: readonly (readonly [words: string, page: string])[] = [
  ['prepare unaudited financial statements', 'benefits-pay-perks/pay-expenses/expenses/index.md'],
  ['uncapped liability for indemnification', 'departments/legal/process/ContractReviewandSignatureAuthorityPolicy.md'],
  ['orphaned anchors as content', 'handbook/editing/handbook-check-failures.md'],
  ['proper authentication and authorization', 'departments/engineering/teams/source/index.md'],
  ['making low-level wording fixes', 'team/ceo/index.md'],
  ["grab the reader's attention", 'departments/marketing/blog.md'],
  ['couple handfuls of pre-sales', 'departments/technical-success/support/team/assigned-app-eng.md'],
  ['skeptical of red tape', 'departments/engineering/dev/career-development/successful-engineers.md'],
  ['flexibility taking non-consecutive leave', 'benefits-pay-perks/benefits-perks/parental-leave.md'],
  ['methodology is particularly effective', 'departments/security/poker-planning.md'],
  ['quality post-mortems can improve', 'departments/cloud/cloud-rca.md'],
  ['good replacement for Fisheye', 'departments/marketing/process/atlassian_fisheye_vs_sourcegraph.md'],
  ['opinions on frontend tooling', 'departments/engineering/guilds/frontend-crew.md'],
  ['manually upload those certificates', 'departments/cloud/technical-docs/custom_domain.md'],
  ['cluster supports persistent volumes', 'departments/technical-success/ps/process/implementation-prerequisites.md'],
  ['herbal medicine and supplements', 'departments/people-talent/family-support.md'],
  ['authenticator app and insert', 'departments/security/knowledge-base/AWS-CLI-MFA.md'],
  ['temporary files and freeing', 'departments/tech-ops/tools/Okta/okta-verify-troubleshooting-steps.md'],
  ['integrated NDA signing workflow', 'departments/security/safebase-account-manager-user-guide.md'],
  ['videos with face cams', 'company-info-and-process/communication/asynchronous-communication.md'],
  ['cryptographic controls to mitigate', 'departments/security/cryptography-policy.md'],
  ['backs up our Terraform', 'departments/security/tooling/terraform-cloud.md'],
  ['confusion around customers thinking', 'departments/product/process/gtm/rollout_process.md'],
  ['disasters are often unpredictable', 'departments/people-talent/emergency-support.md'],
  ['prevailing preferred stock prices', 'benefits-pay-perks/pay-expenses/compensation/equity-timing.md'],
  ['great demos previously shared', 'departments/engineering/demo-day.md'],
  ['Cloud Run Job executions', 'departments/engineering/managed-services/gatekeeper.md'],
  ['bodily functions like circulation', 'departments/people-talent/ada.md'],
  [
    'replaced with typographic quotation',
    'company-info-and-process/communication/content_guidelines/style_and_mechanics.md',
  ],
  ['paring down tech debt', 'departments/cloud/working-agreements.md'],
];
