//! The file that a broker reads its topics from: a line for each, with its name and its number of partitions.

use crate::api::queue::v1beta1::QueueSpecTopics;

/// Partitions of a topic that does not say.
const PARTITIONS: i32 = 3;

pub fn file(topics: &[QueueSpecTopics]) -> String {
    let line = |topic: &QueueSpecTopics| {
        format!(
            "{} {}\n",
            topic.name,
            topic.partitions.unwrap_or(PARTITIONS)
        )
    };
    topics.iter().map(line).collect()
}
