/**
 * Networks in which a cloud serves its own machines, with credentials and configuration among other things. The
 * addresses of the first part look like any other internet address. The others belong to special ranges already, and
 * are listed so that they stay blocked however those ranges are classified.
 */
export const HOST_SERVICES: readonly string[] = [
  // Azure: WireServer, DNS and health probes (learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16).
  '168.63.129.16/32',
  // IBM Cloud: infrastructure and service endpoints of its private network (cloud.ibm.com/docs/vpc, "Service endpoints").
  '161.26.0.0/16',
  '166.8.0.0/14',
  // Equinix Metal: metadata.platformequinix.com (deploy.equinix.com/developers/docs, "Metadata").
  '192.80.8.124/32',

  // AWS, Azure, Google, DigitalOcean, Hetzner, OpenStack: metadata at .254; AWS: containers' credentials, DNS, time.
  '169.254.0.0/16',
  // AWS: metadata and DNS by IPv6 (docs.aws.amazon.com/AWSEC2, "Access instance metadata").
  'fd00:ec2::/32',
  // Google: metadata by IPv6 (cloud.google.com/compute/docs/metadata).
  'fd20:ce::254/128',
  // Oracle: metadata of the first generation, and by IPv6 (docs.oracle.com/iaas, "Getting Instance Metadata").
  '192.0.0.192/32',
  'fd00:c1::a9fe:a9fe/128',
  // Alibaba Cloud: metadata and services of a machine's host (alibabacloud.com/help/ecs, "Instance metadata").
  '100.100.0.0/16',
];
