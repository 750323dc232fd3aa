import type { Caller } from '@commonplace/kit/auth';
import type { Log } from '@commonplace/kit/log';
import type { Passwords } from '@commonplace/kit/passwords';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { Collection, Store } from '@commonplace/kit/store';
import type { FileService } from '@commonplace/proto/files/v1/file_service.js';
import type { FileTextService } from '@commonplace/proto/files/v1/file_text_service.js';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { EntryService } from '@commonplace/proto/search/v1/entry_service.js';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { WorkspaceService } from '@commonplace/proto/tenancy/v1/workspace_service.js';
import type { Room } from './acts/room.js';
import type { Settings } from './config.js';
import type { ContentKinds } from './content/kinds.js';
import type { FormParts } from './forms/parts.js';
import type { DomainChecks } from './jobs/domains.js';
import type { JobRunner } from './jobs/runner.js';
import type { Policy } from './policy.js';
import type { CertificateProbe } from './publications/certificates.js';
import type { DomainResolver } from './publications/dns.js';
import type { Hosts } from './publications/hosts.js';
import type { Outlines } from './publications/outlines.js';
import type { AccessRequest } from './stores/access-requests.js';
import type { Comment, Thread } from './stores/comments.js';
import type { CopyPiece } from './stores/copies.js';
import type { Counters } from './stores/counters.js';
import type { Grant } from './stores/grants.js';
import type { TreeJob } from './stores/jobs.js';
import type { PendingJobs } from './stores/pending.js';
import type {
  DomainRecord,
  PasswordTries,
  PinnedPage,
  PublicationRecord,
  SlugRecord,
  ViewCount,
} from './stores/publications.js';
import type { Shift } from './stores/shifts.js';
import type { SnapshotRecord } from './stores/snapshots.js';
import type { TagUsage } from './stores/tag-usage.js';
import type { Tags } from './stores/tags.js';
import type { Template } from './stores/templates.js';
import type { Tree } from './stores/tree.js';
import type { TermsCache } from './terms.js';

/** What this service asks of others. */
export interface Peers {
  readonly users: Client<AuthService>;
  readonly directory: Client<DirectoryService>;
  readonly workspaces: Client<WorkspaceService>;
  readonly files: Client<FileService>;
  readonly fileTexts: Client<FileTextService>;
  readonly entries: Client<EntryService>;
}

/** What the handlers of this service stand on. */
export interface Parts {
  readonly settings: Settings;
  readonly store: Store;
  readonly tree: Tree;
  readonly kinds: ContentKinds;
  readonly snapshots: Collection<SnapshotRecord>;
  readonly grants: Collection<Grant>;
  readonly accessRequests: Collection<AccessRequest>;
  readonly jobs: Collection<TreeJob>;
  readonly shifts: Collection<Shift>;
  readonly copyPieces: Collection<CopyPiece>;
  readonly counters: Counters;
  readonly tags: Tags;
  readonly usage: Collection<TagUsage>;
  readonly comments: Collection<Comment>;
  readonly threads: Collection<Thread>;
  readonly pending: PendingJobs;
  readonly policy: Policy;
  readonly runner: JobRunner;
  /** Children side by side, by parent. */
  readonly children: Room;
  /** Resources, by workspace. */
  readonly room: Room;
  /** Tags, by workspace. */
  readonly tagRoom: Room;
  /** Comments, by document. */
  readonly commentRoom: Room;
  readonly templates: Collection<Template>;
  readonly publications: Collection<PublicationRecord>;
  readonly slugs: Collection<SlugRecord>;
  readonly domains: Collection<DomainRecord>;
  readonly pinned: Collection<PinnedPage>;
  readonly views: Collection<ViewCount>;
  readonly passwordTries: Collection<PasswordTries>;
  readonly outlines: Outlines;
  readonly hosts: Hosts;
  readonly resolver: DomainResolver;
  readonly certificates: CertificateProbe;
  readonly domainChecks: Pick<DomainChecks, 'wake'>;
  readonly passwords: Passwords;
  readonly forms: FormParts;
  readonly terms: TermsCache;
  /** Who a caller token speaks of. */
  readonly verifyCaller: (token: string) => Caller | Promise<Caller>;
  readonly peers: Peers;
  /** Options of a call that nobody is behind. */
  readonly systemCall: () => CallOptions;
  readonly log: Log;
}
